// What tests/doubles/pi.py does to an engine cache, in the image.
const fs = require("fs");
const path = require("path");

const [engine] = fs.readdirSync("/opt/engines").filter((name) => name.startsWith("pi-"));
const modules = path.join("/opt/engines", engine, "node_modules", "@earendil-works");
const about = path.join(modules, "pi-coding-agent", "package.json");
fs.writeFileSync(about, JSON.stringify({ ...JSON.parse(fs.readFileSync(about)), type: "commonjs" }));
fs.copyFileSync("/build/pi.js", path.join(modules, "pi-coding-agent", "dist", "bundle", "cli.js"));
const catalog = path.join(modules, "pi-ai", "dist", "providers", "data");
fs.mkdirSync(catalog, { recursive: true });
const known = { protocol: { "model-known-to-pi": { id: "model-known-to-pi" } } };
for (const provider of ["openai", "anthropic", "openrouter", "google", "groq", "mistral", "deepseek", "xai"]) {
  fs.writeFileSync(path.join(catalog, `${provider}.json`), JSON.stringify(known));
}
