/**
 * `writ types`: writes the types of a running service, for programs that cannot import the service.
 *
 * The client fetches and verifies the manifest, as it does before a call.
 *
 * @module
 */

import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { createClient } from '../../client/client.ts';
import { printable } from '../../domain/wire/printable.ts';
import type { Manifest } from '../../protocol/trust.ts';
import { CREDENTIAL_VARIABLE, credentialFor } from '../login/credential.ts';
import { joinedValues } from '../shell/arguments.ts';
import { EXIT_FAILED, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';
import { declarationsOf } from './declarations.ts';

const TYPES_USAGE = `Usage: writ types --url <url> [--out <file>] [options]

Writes the capabilities of a service as a TypeScript interface: the parameters and
the result of each, from its verified manifest. For createClient<Name>() of
"writ/client". The same manifest always gives the same text.

  --url <url>          the address of the service
  --out <file>         the file to write, such as src/travel-desk.ts; an existing
                       file is replaced (default: standard output)
  --pin <thumbprint>   a key of the service (may be repeated); without one, the
                       command trusts the keys it gets
  --gated-manifest     send a credential to fetch the manifest, for a service that
                       requires one there
  --token-file <file>  the credential (default: $${CREDENTIAL_VARIABLE})
  --help               this text

Exit status: 0 done, 2 it could not be done.
`;

export async function types(args: readonly string[], io: Io): Promise<number> {
  try {
    const { values } = parseArgs({ args: joinedValues(args, options), options });
    if (values.help) {
      io.out(TYPES_USAGE);
      return EXIT_OK;
    }
    const text = declarationsOf(await manifestFor(values, io));
    if (values.out === undefined) io.out(text);
    else await writeFile(values.out, text);
    return EXIT_OK;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.err(`Cannot write the types: ${printable(why)}\n`);
    return EXIT_FAILED;
  }
}

const options = {
  url: { type: 'string' },
  out: { type: 'string' },
  pin: { type: 'string', multiple: true },
  'gated-manifest': { type: 'boolean' },
  'token-file': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

async function manifestFor(values: Values, io: Io): Promise<Manifest> {
  const { url, pin: pins, 'gated-manifest': gatedManifest, 'token-file': file } = values;
  if (url === undefined) throw new Error('no service is named; give --url');
  if (file !== undefined && !gatedManifest) {
    throw new Error('--token-file is for a gated manifest; give --gated-manifest too');
  }
  const credential = gatedManifest ? await credentialFor(url, file, io) : undefined;
  const reply = await createClient({ url, credential, pins, gatedManifest }).manifest();
  if (reply.ok) return reply.answer;
  throw new Error(reply.failure.detail);
}
