"use strict";
/* The part of the package sqlite3 that n8n uses, made with the SQLite in Node. So installing n8n needs no compiler.

   Statements run at once, on the caller's thread: the database belongs to one agent and is small. */

const { EventEmitter } = require("node:events");
const { DatabaseSync } = require("node:sqlite");

const OPEN = { OPEN_READONLY: 1, OPEN_READWRITE: 2, OPEN_CREATE: 4, OPEN_URI: 64 };
const NAMES = { 1: "SQLITE_ERROR", 5: "SQLITE_BUSY", 6: "SQLITE_LOCKED", 8: "SQLITE_READONLY", 10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT", 13: "SQLITE_FULL", 14: "SQLITE_CANTOPEN", 19: "SQLITE_CONSTRAINT", 26: "SQLITE_NOTADB" };

function told(error) {
  const errno = (error.errcode ?? 1) & 0xff;
  const code = NAMES[errno] ?? "SQLITE_ERROR";
  return Object.assign(error, { errno, code, message: `${code}: ${error.message}` });
}

function bound(value) {
  if (value === undefined) return null;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value instanceof Date) return value.getTime();
  if (value === null || ArrayBuffer.isView(value) || typeof value !== "object") return value;
  return String(value);
}

function given(rest) {
  const callback = typeof rest.at(-1) === "function" ? rest.pop() : undefined;
  const values = rest.length === 1 && Array.isArray(rest[0]) ? rest[0] : rest;
  return { callback, values: values.filter((one, place) => one !== undefined || place < values.length - 1).map(bound) };
}

class Database extends EventEmitter {
  constructor(file, ...rest) {
    super();
    const callback = typeof rest.at(-1) === "function" ? rest.pop() : undefined;
    const readOnly = (rest[0] & OPEN.OPEN_READONLY) === OPEN.OPEN_READONLY;
    this.filename = file;
    this._settle(callback, () => {
      this._database = new DatabaseSync(file, {
        readOnly,
        enableForeignKeyConstraints: false, // the default of SQLite; n8n changes it if it wants
        enableDoubleQuotedStringLiterals: true,
        defensive: false, // n8n's migrations change the schema as text
        timeout: 5000,
      });
    });
  }

  run(sql, ...rest) {
    const { callback, values } = given(rest);
    this._settle(callback, () => {
      const { lastInsertRowid, changes } = this._database.prepare(sql).run(...values);
      return { self: { lastID: Number(lastInsertRowid), changes: Number(changes) } };
    });
    return this;
  }

  all(sql, ...rest) {
    const { callback, values } = given(rest);
    this._settle(callback, () => ({ rows: this._database.prepare(sql).all(...values).map((row) => ({ ...row })) }));
    return this;
  }

  get(sql, ...rest) {
    const { callback, values } = given(rest);
    this._settle(callback, () => {
      const row = this._database.prepare(sql).get(...values);
      return { rows: row && { ...row } };
    });
    return this;
  }

  exec(sql, callback) {
    this._settle(callback, () => void this._database.exec(sql));
    return this;
  }

  close(callback) {
    this._settle(callback, () => void this._database.close());
  }

  serialize(callback) {
    callback?.();
  }

  configure() {}

  /* Calls back later, as if a thread had done the work. */
  _settle(callback, work) {
    let answer;
    try {
      const { rows, self } = work() ?? {};
      answer = () => callback?.call(self ?? this, null, rows);
    } catch (error) {
      const failure = told(error);
      answer = () => (callback ? callback.call(this, failure) : this.emit("error", failure));
    }
    setImmediate(answer);
  }
}

const sqlite3 = { ...OPEN, Database, verbose: () => sqlite3 };
module.exports = sqlite3;
