// Asks the browser for a passkey when a form with data-passkey is sent, and puts its answer into the form's field
// `answer`. data-options has the server's options; bytes in them are base64url.
"use strict";

(() => {
  const bytes = (text) => {
    const padded = text.replace(/-/g, "+").replace(/_/g, "/");
    return Uint8Array.from(atob(padded), (one) => one.charCodeAt(0));
  };
  const text = (buffer) => {
    const all = Array.from(new Uint8Array(buffer), (one) => String.fromCharCode(one)).join("");
    return btoa(all).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  };
  const named = (keys) => (keys || []).map((key) => ({ ...key, id: bytes(key.id) }));

  const created = async (options) => {
    const user = { ...options.user, id: bytes(options.user.id) };
    const publicKey = {
      ...options,
      user,
      challenge: bytes(options.challenge),
      excludeCredentials: named(options.excludeCredentials),
    };
    const made = await navigator.credentials.create({ publicKey });
    return answer(made, { attestationObject: text(made.response.attestationObject) });
  };

  const signed = async (options) => {
    const publicKey = {
      ...options,
      challenge: bytes(options.challenge),
      allowCredentials: named(options.allowCredentials),
    };
    const used = await navigator.credentials.get({ publicKey });
    const { authenticatorData, signature } = used.response;
    return answer(used, { authenticatorData: text(authenticatorData), signature: text(signature) });
  };

  const answer = (credential, more) =>
    JSON.stringify({
      id: credential.id,
      rawId: text(credential.rawId),
      type: credential.type,
      response: { clientDataJSON: text(credential.response.clientDataJSON), ...more },
    });

  const send = async (event) => {
    const form = event.currentTarget;
    const field = form.elements.namedItem("answer");
    const problem = form.querySelector(".passkey-problem");
    if (field.value) return; // the answer is there: let the form go
    event.preventDefault();
    problem.hidden = true;
    try {
      if (!navigator.credentials) throw new Error("this browser has no passkeys, or the address is not https");
      const options = JSON.parse(form.dataset.options);
      field.value = await (form.dataset.passkey === "create" ? created(options) : signed(options));
      form.requestSubmit();
    } catch (error) {
      problem.textContent = `No passkey was used: ${error.message}`;
      problem.hidden = false;
    }
  };

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.elements.namedItem("answer").value = "";
    form.addEventListener("submit", send);
  }
})();
