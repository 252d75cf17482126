/**
 * The configuration page: every setting with its variable, default and meaning, made from the schema.
 *
 * @module
 */

import {
  CONFIG_FILE_VARIABLE,
  DISCLOSURE_DEFAULTS,
  ENVIRONMENT,
  Settings,
} from '../src/config/config.ts';
import { WitnessSetting } from '../src/config/log.ts';
import { ActorPolicyRule, EntitlementRule, Identity, ProviderClient } from '../src/config/parts.ts';
import { SignInClient, SignInSettings, StepUpRule } from '../src/config/sign-in.ts';
import { EmailForm, Webhook } from '../src/config/webhook.ts';
import { EventClass } from '../src/protocol/audit.ts';

interface Field {
  unwrap?: () => Field;
  description?: string | undefined;
  safeParse(value: unknown): { success: boolean; data?: unknown };
}

export function configurationPage(): string {
  return `<!-- Made by \`npm run generate\` from src/config/config.ts. -->
# Configuration

A setting comes from the environment, else from \`writ.config.mjs\`, \`.js\`, \`.yaml\` or \`.ts\` in the working folder
(\`${CONFIG_FILE_VARIABLE}\` names another file; \`.ts\` needs the package \`tsx\` or Node 22.18), else from its default. The service does not start,
and reports all faults at once, when it finds two such files, a \`writ.config.*\` in another language, an unknown setting, a
\`WRIT_*\` variable whose name is near that of a setting (\`WRIT_STOER\`), a value that it cannot use, half-configured OIDC, or demo credentials on an
address that other machines reach.

The service ignores every other \`WRIT_*\` variable, and warns of all of them in one line. Kubernetes adds such variables to each container beside a Service
called \`writ\` (\`WRIT_SERVICE_HOST\`, \`WRIT_PORT=tcp://…\`): set \`enableServiceLinks: false\` in the pod to be rid of them.

| setting | variable | default | |
|---|---|---|---|
${Object.entries(Settings.shape)
  .map(([name, field]) => row(name, field as unknown as Field))
  .join('\n')}

## Limits

\`principal_rate\` and \`address_rate\` are \`<calls>/<duration>\`: that many calls at once, refilled over each duration. They apply
to every operation on every transport; each process counts for itself. The service answers a call beyond them with 429 \`rate_limited\`
and \`Retry-After\`. It counts a request of a known caller for the root principal only, and every other request for its address. A
service behind a proxy needs \`trusted_proxies\`: otherwise all its clients have the address of the proxy. A trusted proxy must
append the client's address to \`X-Forwarded-For\`; the service does not read \`Forwarded\`.

\`GET /metrics\` needs no credential while only this machine reaches the service. When \`host\` or \`public_url\` is not a loopback
address, or \`trusted_proxies\` is set, it needs a credential or a token with the scope \`operator:metrics\`.

## Lists

Only the configuration file can set lists.

\`identities\` — each with ${names(Identity.shape)}. A caller presents the credential as \`Authorization: Bearer …\`; the file has its hash:
\`printf %s "$KEY" | sha256sum\`. \`scopes\` are exact, \`prefix.*\` or \`word:*\`; \`subjects\` are principals with at most one \`*\`.
By default a principal is entitled to nothing except naming itself as subject. \`conditions\` are those of every root token, by capability and
path ([the vocabulary](conditions.md)); an identity that has some adds no other identity.

\`entitlements\` — each with ${names(EntitlementRule.shape)}: for principals that authenticate in another way, such as OIDC.

\`actor_policies\` — each with ${names(ActorPolicyRule.shape)}: the \`value\` that the service derives for an input, and the values that the
acting principal may send itself (\`allowed\`).

\`webhooks\` — each with ${names(Webhook.shape)}: targets that get a signed POST (Standard Webhooks) for each change of an
approval request. \`secret\` is \`whsec_\` and 24 to 64 bytes in base64: \`echo whsec_$(openssl rand -base64 32)\`. A target with a
private or local address needs \`allow_inside\`. The service follows no redirect. With \`format\` \`slack\` or \`email\` people get a card
(\`docs/approvals.md\`); \`email\` has ${names(EmailForm.shape)}. \`url_env\` and the values of \`header_env\` name
environment variables that have an address or a header, under the rules of \`client_secret_env\` below.

\`oidc\` — [Identity providers](sign-in.md#identity-providers) explains the rules of an issuer. Its \`sign_in\` has
${names(ProviderClient.shape)}: with it, people sign in there with a browser. \`client_secret_env\` names the environment variable that
has the secret; the service reads it once at the start, and does not start when the variable is not set. Its name cannot begin with
\`WRIT_\`, because those variables are settings. No message and no log line contains a secret. The service does not start when
an issuer has \`sign_in\` and other machines reach the service by plain http: \`public_url\` then needs https.

\`retention\` — event class (${EventClass.options.map((name) => `\`${name}\``).join(', ')}) to an ISO 8601 duration of an
hour at least, after which the service erases the contents of its entries; \`personal\` applies to the personal fields of all
entries. Indexes and hashes stay, so every proof still verifies.

\`witnesses\` — each with ${names(WitnessSetting.shape)}: the base URL of its \`add-checkpoint\`, and the key of its
cosignatures. The service logs at its start the key that the witness must trust.

\`disclosure\` — caller class to \`full\`, \`reduced\` or \`redacted\`. Defaults: ${Object.entries(
    DISCLOSURE_DEFAULTS,
  )
    .map(([name, level]) => `\`${name}\` ${level}`)
    .join(', ')}.

## Sign-in

Only the configuration file can set \`sign_in\`, an object. Every member may be left out.

| member | default | |
|---|---|---|
${Object.entries(SignInSettings.shape)
  .map(([name, field]) => memberRow(name, field as unknown as Field))
  .join('\n')}

Each of \`clients\` has ${names(SignInClient.shape)}. Each of \`step_up\` has ${names(StepUpRule.shape)}: a consent to a matching scope
needs a sign-in that is at most so many minutes old, and for which the provider asserts this \`acr\`; give one or both. \`scopes\` are exact,
\`prefix.*\` or \`word:*\`; the service warns at the start about a rule whose scopes no capability needs.

## Options of Node

A call makes many objects that die with it. Where they have more room than Node gives by itself, a busy service spends
about a tenth less CPU time on them, for some 40 MB of memory; \`npm start\` gives it to them:

\`\`\`sh
node --min-semi-space-size=16 --max-semi-space-size=32 main.js
\`\`\`

## Example

\`\`\`yaml
# writ.config.yaml
host: 0.0.0.0
public_url: https://desk.example.com
store: postgres://writ@db.internal/writ
keys: /var/lib/writ/keys
identities:
  - principal: human:alice@example.com
    key_sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    scopes: [travel.*]
    subjects: ["agent:*"]
    caller_class: internal
\`\`\`
`;
}

function row(name: string, field: Field): string {
  const variable = (ENVIRONMENT as Record<string, string>)[name];
  // The members of an object have their own table.
  const value = name === 'sign_in' ? '' : defaultOf(field);
  return `| \`${name}\` | ${variable ? `\`${variable}\`` : ''} | ${value} | ${describe(field)} |`;
}

function memberRow(name: string, field: Field): string {
  return `| \`${name}\` | ${defaultOf(field)} | ${describe(field)} |`;
}

function defaultOf(field: Field): string {
  const { success, data } = field.safeParse(undefined);
  return success && data !== undefined ? `\`${JSON.stringify(data)}\`` : '';
}

function describe(field: Field): string {
  return field.description ?? (field.unwrap ? describe(field.unwrap()) : '');
}

function names(shape: object): string {
  return Object.keys(shape)
    .map((name) => `\`${name}\``)
    .join(', ');
}
