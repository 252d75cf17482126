/**
 * `writ verify`: checks what a service signed, from files or from the service itself, and prints what
 * was checked, what failed, and what could not be.
 *
 * Exits with 0 only when everything verified, with 1 when something failed, and with
 * 2 when something could not be checked. `src/verify` decides which of them it is.
 *
 * @module
 */

import { createReadStream } from 'node:fs';
import { printable } from '../../domain/wire/printable.ts';
import { verifyCheckpoint } from '../../verify/checkpoint.ts';
import { verifyEntry } from '../../verify/entry.ts';
import { verifyExport } from '../../verify/export/export.ts';
import { verifyGrant } from '../../verify/grant.ts';
import { verifyGrowth } from '../../verify/growth.ts';
import { verifyManifest } from '../../verify/manifest.ts';
import { verifyReceipt } from '../../verify/receipt.ts';
import type { Check, Report, Verdict } from '../../verify/report.ts';
import type { CheckpointGround, Ground } from '../../verify/signed.ts';
import { verifyToken } from '../../verify/token.ts';
import { CREDENTIAL_VARIABLE } from '../login/credential.ts';
import { EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { bytesIn, jsonIn } from '../shell/files.ts';
import type { Io } from '../shell/io.ts';
import { coveringEntry, coveringLeaf, extending, fetchedManifest, newest } from './fetch.ts';
import { keySource, keysFor, serviceIdFor, type VerifyOptions, verifyOptions } from './options.ts';
import { folderReport } from './stream.ts';

const VERIFY_USAGE = `Usage: writ verify <what> [options]

What
  token [<file>|-]                   a delegation token (default: standard input)
  manifest [<file> --signature <s>]  a manifest as it came, and its X-SVC-Signature
  grant <file>                       an approval grant
  checkpoint [<file>]                a checkpoint, with its note where it has one
  entry <file> [<checkpoint>]        an entry with its leaf, and a checkpoint's
                                     detail with the entry's inclusion proof
  consistency <earlier> [<later>]    two checkpoints, the later with its proof
  receipt <file> [<checkpoint>]      the receipt of an invocation, in the same way
  receipt <file> --log <export>      the same, against a whole log: with --after
                                     <checkpoint> it can prove a drop
  log <export>                       what "writ audit export" wrote
  stream <folder>                    the chunks that "writ audit stream" wrote

Options
  --service <url>    fetch what is not given: keys, newest checkpoint, proofs
  --service-id <id>  the expected service (default: the id that --service reports)
  --jwks <file>      its keys, saved from a source that you trust
  --pin <kid>        the thumbprint of a key that you know (may be repeated)
  --vkey <key>       a key of the log or of a witness (may be repeated)
  --after <file>     the newest checkpoint, fetched after the receipt came; for
                     --log, whose log must have two more
  --gated-manifest   send a credential to fetch the manifest, for a service that
                     requires one; it is sent before anything is verified
  --token-file <f>   that credential (default: $${CREDENTIAL_VARIABLE})
  --trail            accept a trail instead of a whole log
  --allow-erased     accept entries whose contents retention erased
  --json             the report as JSON
  --help             this text

Keys fetched from the service prove only what the service claims: pin them.

Exit status: 0 everything verified, 1 something failed, 2 something could not be
checked.
`;

export async function verify(args: readonly string[], io: Io): Promise<number> {
  const [what = '', ...rest] = args;
  if (what === '--help' || what === '-h' || rest.includes('--help')) {
    io.out(VERIFY_USAGE);
    return EXIT_OK;
  }
  try {
    const check = Object.hasOwn(KINDS, what) ? KINDS[what] : undefined;
    if (!check) throw new Error(`expected one of ${Object.keys(KINDS).join(', ')}`);
    const asked = verifyOptions(rest, io);
    const report = await check(asked, io);
    io.out(asked.isJson ? jsonReport(what, report) : textReport(report));
    return EXIT_CODES[report.verdict];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.err(`Cannot verify: ${printable(why)}\n`);
    return EXIT_FAILED;
  }
}

const EXIT_CODES = {
  verified: EXIT_OK,
  failed: EXIT_FOUND,
  incomplete: EXIT_FAILED,
} as const satisfies Record<Verdict, number>;

type Kind = (asked: VerifyOptions, io: Io) => Promise<Report>;

const KINDS: Readonly<Record<string, Kind>> = {
  async token(asked, io) {
    const [file] = filesOf(asked, 0, 1);
    const isPiped = file === undefined || file === '-';
    const text = isPiped ? await io.input?.() : new TextDecoder().decode(bytesIn(file));
    return verifyToken((text ?? '').trim(), await groundOf(asked));
  },
  async manifest(asked) {
    const [file] = filesOf(asked, 0, 1);
    const { manifestRemote, signature } = asked;
    if (file === undefined && manifestRemote) {
      return verifyManifest(await fetchedManifest(manifestRemote), await groundOf(asked));
    }
    if (file === undefined || signature === undefined) {
      throw new Error('expected a file and --signature, or --service');
    }
    return verifyManifest({ body: bytesIn(file), signature }, await groundOf(asked));
  },
  async grant(asked) {
    const [file = ''] = filesOf(asked, 1, 1);
    return verifyGrant(jsonIn(file), await groundOf(asked));
  },
  async checkpoint(asked) {
    const [file] = filesOf(asked, asked.remote ? 0 : 1, 1);
    const value = file === undefined ? await newest(asked.remote) : jsonIn(file);
    return verifyCheckpoint(value, await checkpointGround(asked));
  },
  async entry(asked) {
    const [file = '', second] = filesOf(asked, asked.remote ? 1 : 2, 2);
    const entry = onlyEntry(jsonIn(file));
    const checkpoint = second ? jsonIn(second) : await coveringEntry(asked.remote, entry);
    return verifyEntry({ entry, checkpoint }, await checkpointGround(asked));
  },
  async consistency(asked) {
    const [file = '', second] = filesOf(asked, asked.remote ? 1 : 2, 2);
    const earlier = jsonIn(file);
    const later = second ? jsonIn(second) : await extending(asked.remote, earlier);
    return verifyGrowth({ earlier, later }, await checkpointGround(asked));
  },
  async receipt(asked) {
    const [file = '', second] = filesOf(asked, asked.remote || asked.log ? 1 : 2, 2);
    const receipt = receiptIn(jsonIn(file));
    if (asked.log !== undefined) return exportReport(asked.log, asked, receipt);
    const checkpoint = second ? jsonIn(second) : await coveringLeaf(asked.remote, receipt);
    return verifyReceipt({ receipt, checkpoint }, await checkpointGround(asked));
  },
  async log(asked) {
    const [file = ''] = filesOf(asked, 1, 1);
    return exportReport(file, asked);
  },
  async stream(asked) {
    const [folder = ''] = filesOf(asked, 1, 1);
    const { serviceId, allowErased } = asked;
    const keys = await keySource(asked);
    return folderReport(folder, { keys, now: new Date(), serviceId, allowErased });
  },
};

function filesOf({ files }: VerifyOptions, least: number, most: number): readonly string[] {
  if (files.length >= least && files.length <= most) return files;
  const count = least === most ? String(least) : `${least} to ${most}`;
  throw new Error(`expected ${count} files, not ${files.length}`);
}

async function groundOf(asked: VerifyOptions): Promise<Ground> {
  const { serviceId, allowErased } = asked;
  return { keys: await keysFor(asked), now: new Date(), serviceId, allowErased };
}

async function checkpointGround(asked: VerifyOptions): Promise<CheckpointGround> {
  return { ...(await groundOf(asked)), serviceId: await serviceIdFor(asked) };
}

async function exportReport(
  file: string,
  asked: VerifyOptions,
  receipt?: unknown,
): Promise<Report> {
  const { serviceId, allowErased, isTrail } = asked;
  const after = asked.after === undefined ? undefined : onlyCheckpoint(jsonIn(asked.after));
  const facts = { now: new Date(), serviceId, allowErased, receipt, after, isTrail };
  const ground = { keys: await keySource(asked), ...facts };
  return verifyExport(createReadStream(file), ground);
}

/** An entry, or an answer of the audit endpoint with exactly one. */
function onlyEntry(value: unknown): unknown {
  const { entries } = (value ?? {}) as { entries?: unknown };
  return Array.isArray(entries) && entries.length === 1 ? entries[0] : value;
}

/** A checkpoint, or a listing with exactly one. */
function onlyCheckpoint(value: unknown): unknown {
  const { checkpoints } = (value ?? {}) as { checkpoints?: unknown };
  return Array.isArray(checkpoints) && checkpoints.length === 1 ? checkpoints[0] : value;
}

/** A receipt, or the answer of an invocation that carries it. */
function receiptIn(value: unknown): unknown {
  const { audit } = (value ?? {}) as { audit?: unknown };
  return audit ?? value;
}

function jsonReport(what: string, { verdict, checks, limits }: Report): string {
  return `${JSON.stringify({ what, verdict, checks, limits })}\n`;
}

const OUTCOMES = {
  ok: 'ok',
  failed: 'FAILED',
  not_checked: 'not checked',
} as const satisfies Record<Check['outcome'], string>;

const VERDICTS = {
  verified: 'Verified',
  failed: 'Not verified: it failed',
  incomplete: 'Not verified: not all could be checked',
} as const satisfies Record<Verdict, string>;

function textReport({ verdict, checks, limits }: Report): string {
  const names = checks.map(({ what }) => printable(what));
  const width = Math.max(...names.map((name) => name.length));
  const lines = checks.map(({ outcome, detail }, index) => {
    const start = `${OUTCOMES[outcome].padEnd(12)} ${(names[index] ?? '').padEnd(width)}`;
    return `${start}  ${printable(detail ?? '')}`.trimEnd();
  });
  const beyond = limits.map((limit) => `Not covered: ${limit}`);
  return `${[...lines, ...beyond, VERDICTS[verdict]].join('\n')}\n`;
}
