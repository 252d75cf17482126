/**
 * The failures page: every failure type with its status and its guidance, made from the tables.
 *
 * @module
 */

import { CONTROL_ACTION, GUIDANCE, RECOVERY } from '../src/domain/failure.ts';
import { OWN_STATUS, STATUS } from '../src/http/status.ts';
import type { FailureType } from '../src/protocol/failure.ts';

export function failuresPage(): string {
  const types = Object.keys(GUIDANCE) as FailureType[];
  return `<!-- Made by \`npm run generate\` from src/domain/failure.ts and src/http/status.ts. -->
# Failures

Every answer outside 2xx is \`{"success": false, "failure": {…}}\`. A failure says what went wrong
(\`type\`, \`detail\`), whether the same call may succeed later (\`retry\`), and what to do next
(\`resolution.action\`, \`resolution.recovery_class\`). An agent needs the last three only.

| type | status | retry | action | recovery class | when |
|---|---|---|---|---|---|
${types.map(row).join('\n')}

\`control_requirement_unsatisfied\` asks for what its requirement needs:
${Object.entries(CONTROL_ACTION)
  .map(([control, action]) => `\`${control}\` for \`${action}\``)
  .join(', ')}.

## Failures of a capability's own

A capability may declare failures beside these in \`failure_types\` (\`type\`, \`description\`, \`retry\`, \`action\`); the manifest has them.
Such a failure is answered with status ${OWN_STATUS}, and its action has the recovery class of the table below.

## Actions

One action has one recovery class, everywhere.

| action | recovery class |
|---|---|
${Object.entries(RECOVERY)
  .map(([action, recovery]) => `| \`${action}\` | \`${recovery}\` |`)
  .join('\n')}
`;
}

function row(type: FailureType): string {
  const { retry, action, when } = GUIDANCE[type];
  return `| \`${type}\` | ${STATUS[type]} | ${retry} | \`${action}\` | \`${RECOVERY[action]}\` | ${when} |`;
}
