/**
 * The list of operations, made from their table.
 *
 * @module
 */

import { type Operation, operations } from '../src/protocol/operations.ts';

const WHO: Readonly<Record<Operation['auth'], string>> = {
  none: 'anyone',
  optional: 'anyone; more with a credential',
  bearer: 'a credential or a token',
  token: 'a token',
};

export function operationsPage(): string {
  const rows = Object.entries(operations).map(([name, { summary, method, path, auth }]) => {
    return `| \`${name}\` | ${summary} | \`${method} ${path}\` | ${WHO[auth]} |`;
  });
  return `<!-- Made by \`npm run generate\` from src/protocol/operations.ts. -->
# Operations

What a service does for a caller, under one name in \`client.ask(name, input)\`, with \`writ ask <name> --input <json>\`, over stdio
(\`svc.<name>\`) and in the API description ([openapi.json](openapi.json) has every field). The other commands do the same for people, in
tables: [cli.md](cli.md).

| operation | does | over HTTP | for |
|---|---|---|---|
${rows.join('\n')}
`;
}
