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
import { ActorPolicyRule, EntitlementRule, Identity } from '../src/config/parts.ts';
import { Webhook } from '../src/config/webhook.ts';
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
(\`${CONFIG_FILE_VARIABLE}\` names another file; \`.ts\` needs the package \`tsx\`), else from its default. Two such files, or
\`writ.config.*\` in another language, an unknown setting, an unknown \`WRIT_*\` variable, a value that cannot be used, half-configured OIDC, or demo credentials on an address that
other machines reach stop the start; all faults are said at once.

| setting | variable | default | |
|---|---|---|---|
${Object.entries(Settings.shape)
  .map(([name, field]) => row(name, field as unknown as Field))
  .join('\n')}

## Limits

\`principal_rate\` and \`address_rate\` are \`<calls>/<duration>\`: so many calls at once, and as many again in each such time. They hold
for every operation, on every transport; each process counts by itself. A call beyond them is 429 \`rate_limited\` with
\`Retry-After\`. Requests of known callers count for their root principal alone; the address counts for all others. A
service behind a proxy needs \`trusted_proxies\`: otherwise all its clients have the address of the proxy. Proxies that are
trusted append the client's address to \`X-Forwarded-For\`; \`Forwarded\` is not read.

\`GET /metrics\` is open where only this machine reaches the service. Where \`host\` or \`public_url\` is not a loopback address, or
\`trusted_proxies\` is set, it needs a credential or a token with the scope \`operator:metrics\`.

## Lists

Lists are written in the configuration file.

\`identities\` — each with ${names(Identity.shape)}. The credential is presented as \`Authorization: Bearer …\`; give its hash:
\`printf %s "$KEY" | sha256sum\`. \`scopes\` are exact, \`prefix.*\` or \`word:*\`; \`subjects\` are principals with at most one \`*\`.
Nothing is entitled by default, except to name oneself as subject.

\`entitlements\` — each with ${names(EntitlementRule.shape)}: for principals that prove who they are in another way.

\`actor_policies\` — each with ${names(ActorPolicyRule.shape)}: the \`value\` that is derived for an input, and the values that the actor is
\`allowed\` to name.

\`webhooks\` — each with ${names(Webhook.shape)}: who is told, by a signed POST (Standard Webhooks), what becomes of approval
requests. \`secret\` is \`whsec_\` and 24 to 64 bytes in base64: \`echo whsec_$(openssl rand -base64 32)\`. A target with an inside
address needs \`allow_inside\`; no redirect is followed.

\`retention\` — event class (${EventClass.options.map((name) => `\`${name}\``).join(', ')}) to an ISO 8601 duration of an
hour at least, after which the contents of its entries are erased; \`personal\` is for the personal fields of all. Places
and hashes stay, so every proof still verifies.

\`witnesses\` — each with ${names(WitnessSetting.shape)}: the address below which it takes \`add-checkpoint\`, and the key of its
cosignatures. The service says at its start by which key it is to be trusted there.

\`disclosure\` — caller class to \`full\`, \`reduced\` or \`redacted\`. Defaults: ${Object.entries(
    DISCLOSURE_DEFAULTS,
  )
    .map(([name, level]) => `\`${name}\` ${level}`)
    .join(', ')}.

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
  const fallback = field.safeParse(undefined);
  const value =
    fallback.success && fallback.data !== undefined ? `\`${JSON.stringify(fallback.data)}\`` : '';
  return `| \`${name}\` | ${variable ? `\`${variable}\`` : ''} | ${value} | ${describe(field)} |`;
}

function describe(field: Field): string {
  return field.description ?? (field.unwrap ? describe(field.unwrap()) : '');
}

function names(shape: object): string {
  return Object.keys(shape)
    .map((name) => `\`${name}\``)
    .join(', ');
}
