/** Checks that an event really comes from the service, before anything acts on it. */

import { NotGenuineError, parsed } from "./errors.ts";
import type { components } from "./schema.ts";

export type WebhookEvent = components["schemas"]["WebhookEvent"];

/**
 * The event, if its signature is right; throws NotGenuineError otherwise. `body` is the raw body. Deliveries come at
 * least once: act on each `event.id` once, and answer any 2xx within ten seconds.
 */
export async function verified(body: Uint8Array | string, headers: Headers | Record<string, string>, secret: string): Promise<WebhookEvent> {
  if (!secret) throw new TypeError("secret: is empty, so anybody could sign with it");
  const given = headers instanceof Headers ? headers : new Headers(headers);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  let genuine = false;
  for (const name of ["x-service-signature", "x-service-signature-previous"]) {
    const signature = bytesOf(given.get(name));
    // `verify` compares in constant time.
    if (signature && (await crypto.subtle.verify("HMAC", key, signature, bytes))) genuine = true;
  }
  const event = genuine ? parsed(new TextDecoder().decode(bytes)) : null;
  const delivery = given.get("x-service-delivery");
  if (!event || (delivery !== null && event["id"] !== delivery)) throw new NotGenuineError("the event is not signed with this secret");
  return event as unknown as WebhookEvent;
}

function bytesOf(signature: string | null): Uint8Array<ArrayBuffer> | null {
  const hex = /^sha256=([0-9a-f]{64})$/.exec(signature ?? "")?.[1];
  return hex ? Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)) : null;
}
