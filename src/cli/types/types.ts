/**
 * `writ types`: writes the types of a running service, for programs that cannot import the service.
 *
 * The client fetches and verifies the manifest, as it does before a call.
 *
 * @module
 */

import { writeFile } from 'node:fs/promises';
import { createClient } from '../../client/client.ts';
import type { Manifest } from '../../protocol/trust.ts';
import { answerOrExit, credentialFor, SERVICE_OPTIONS, serviceOf } from '../login/session.ts';
import { type Io, leaf } from '../shell/command.ts';
import { flag, type Given, list, value } from '../shell/options.ts';
import { declarationsOf } from './declarations.ts';

const OPTIONS = {
  service: SERVICE_OPTIONS.service,
  url: value('<url>', 'another name for --service'),
  out: value(
    '<file>',
    'the file to write, such as src/travel-desk.ts; an existing file is replaced (default: standard output)',
  ),
  pin: list(
    '<thumbprint>',
    'a key of the service (may be repeated); without one, the command trusts the keys it gets',
  ),
  'gated-manifest': flag(
    'send a credential to fetch the manifest, for a service that requires one there',
  ),
  'token-file': SERVICE_OPTIONS['token-file'],
} as const;

export const typesCommand = leaf({
  name: 'types',
  summary: 'write the types of a service, for a typed client',
  about:
    'Writes the capabilities of a service as a TypeScript interface: the parameters and the result of each, from its verified manifest. For createClient<Name>() of "writ/client". The same manifest always gives the same text.',
  options: OPTIONS,
  examples: [
    ['writ types --service http://127.0.0.1:8420 --out src/travel-desk.ts', 'write a module'],
  ],
  cannot: 'write the types',
  async run(given, io) {
    const text = declarationsOf(await manifestFor(given, io));
    if (given.out === undefined) io.out(text);
    else await writeFile(given.out, text);
  },
});

async function manifestFor(given: Given<typeof OPTIONS>, io: Io): Promise<Manifest> {
  const { 'gated-manifest': gatedManifest, 'token-file': file } = given;
  const url = given.url ?? serviceOf(given.service, io);
  if (file !== undefined && !gatedManifest) {
    throw new Error('--token-file is for a gated manifest; give --gated-manifest too');
  }
  const credential = gatedManifest ? await credentialFor(url, file, io) : undefined;
  const pins = given.pin.length > 0 ? given.pin : undefined;
  const client = createClient({ url, credential, pins, gatedManifest });
  return answerOrExit(await client.manifest(), { json: false }, io);
}
