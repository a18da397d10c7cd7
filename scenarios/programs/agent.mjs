// A shop assistant in JavaScript, by fetch alone: a model of OpenAI words the receipt, Stripe charges, Resend mails it.
//
// `--buggy` records each step after it has happened, and nothing else. `--fixed` gives Stripe and Resend a key made of
// run and step. OpenAI takes no keys, so the answer that is on its way when the program is killed is paid for again:
// the fixed half is safe by `--accept in-flight`.
//
//   crashwindow exec --accept in-flight -- node scenarios/programs/agent.mjs --fixed

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { env } = process;
const CUSTOMER = "ada@example.com";
const CENTS = 4200;

const runId = env.CRASHWINDOW_RUN_ID ?? "run-1";
const file = join(env.CRASHWINDOW_STATE ?? ".", `${runId}.json`);
const done = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};

/** What the step came to in an earlier life, or comes to now. The file is replaced as a whole, never half of it. */
async function once(step, work) {
  if (!(step in done)) {
    done[step] = await work(keyOf(step));
    const draft = openSync(`${file}.tmp`, "w");
    writeFileSync(draft, JSON.stringify(done));
    fsyncSync(draft);
    closeSync(draft);
    renameSync(`${file}.tmp`, file);
  }
  return done[step];
}

/** The headers that carry a step's key: none in the buggy half. */
let keyOf = () => ({});

/** POST, and the answer as JSON. Anything but success ends the program: whoever started it will start it again. */
async function post(url, token, body, headers = {}) {
  const isForm = body instanceof URLSearchParams;
  const type = isForm ? "application/x-www-form-urlencoded" : "application/json";
  const response = await fetch(url, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": type, ...headers },
    body: isForm ? body : JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Error(`${url} answers ${response.status}: ${await response.text()}`);
  }
  return response.json();
}

async function word() {
  const url = `${env.OPENAI_BASE_URL ?? "https://api.openai.com/v1"}/chat/completions`;
  const messages = [{ role: "user", content: `Word a receipt for a lamp, ${CENTS} cents.` }];
  const said = await post(url, env.OPENAI_API_KEY, { model: "gpt-5-mini", messages });
  return said.choices[0].message.content;
}

async function charge(key) {
  const url = `${env.STRIPE_API_BASE ?? "https://api.stripe.com"}/v1/payment_intents`;
  const form = new URLSearchParams({
    amount: CENTS,
    currency: "usd",
    confirm: true,
    payment_method: "pm_card_visa",
    "payment_method_types[]": "card",
    receipt_email: CUSTOMER,
    "metadata[order]": "A-17",
  });
  return (await post(url, env.STRIPE_API_KEY, form, key)).id;
}

async function mail(text, key) {
  const url = `${env.RESEND_API_URL ?? "https://api.resend.com"}/emails`;
  const email = { from: "shop@example.com", to: CUSTOMER, subject: "Your receipt", text };
  return (await post(url, env.RESEND_API_KEY, email, key)).id;
}

const half = process.argv[2];
if (half === "--fixed") {
  keyOf = (step) => ({ "Idempotency-Key": `${runId}:${step}` });
} else if (half !== "--buggy") {
  console.error("usage: node agent.mjs --buggy | --fixed");
  process.exit(2);
}

const receipt = await once("word", word);
await once("charge", charge);
await once("mail", (key) => mail(receipt, key));
