/**
 * `writ guard review`: shows what an upstream changed, and keeps what a person accepts in the lock.
 *
 * A running guard notices the lock by itself. Everything that the upstream says is shown as its words, made
 * printable and cut to a bound. What is accepted is named by the digest that was shown.
 *
 * @module
 */

import { printable } from '../../domain/wire/printable.ts';
import { inputFault } from '../../guard/declared.ts';
import { pinned, type ToolChange, toolChanges } from '../../guard/pins.ts';
import { toolDigest, type UpstreamTool } from '../../guard/upstream.ts';
import { createLog } from '../../log.ts';
import { system } from '../../platform.ts';
import type { ToolReview } from '../../protocol/console/reviews.ts';
import { HexHash } from '../../protocol/primitives.ts';
import { answersYes, type Io, leaf } from '../shell/command.ts';
import { EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { list } from '../shell/options.ts';
import { JSON_OPTION, printJson } from '../shell/output.ts';
import { reviewer, toolReview } from './changed.ts';
import { connectUpstream } from './connect.ts';
import { type GuardFiles, guardFiles, type Reviewed, readGuardFiles, writeLock } from './files.ts';
import { NAME_LENGTH_MAX, printableLine } from './offer.ts';
import { POLICY_OPTION } from './options.ts';

/** Tools outside the policy that are listed. */
const OTHERS_MAX = 40;

export const reviewCommand = leaf({
  name: 'review',
  summary: 'show what an upstream changed, and accept it',
  about:
    'Asks the upstream for its tools, and shows each tool of the policy that changed since its review, that was never reviewed, or that is gone. On a terminal it asks whether you accept each one. A guard that runs takes over what you accept.',
  options: {
    ...POLICY_OPTION,
    accept: list(
      '<tool=digest>',
      'accept the tool that has this digest, as it was shown with all its 64 digits (may be repeated)',
    ),
    ...JSON_OPTION,
  },
  examples: [
    ['writ guard review', 'ask about each change'],
    ['writ guard review --accept read_file=…', 'accept one that you have seen'],
  ],
  exits: [
    [EXIT_OK, 'nothing is left to review'],
    [EXIT_FOUND, 'something is left'],
    [EXIT_FAILED, 'it could not run'],
  ],
  cannot: 'review the tools',
  async run({ policy, accept, json }, io) {
    const left = await review(guardFiles(policy), { accept, json }, io);
    return left === 0 ? EXIT_OK : EXIT_FOUND;
  },
});

/** Returns how many are left to review. With `json` no person is asked. */
async function review(
  files: GuardFiles,
  { accept, json }: { readonly accept: readonly string[]; readonly json: boolean },
  io: Io,
): Promise<number> {
  const read = readGuardFiles(files);
  if ('faults' in read) throw new Error(read.faults.join('\n'));
  const wanted = accept.map(acceptedIn);
  const live = await toolsOf(read, files, io);
  const changes = toolChanges(read.policy, read.pins, live);
  const listed = changes.filter(({ isNamed }) => isNamed);
  refuseStray(wanted, listed);
  const accepted: UpstreamTool[] = [];
  for (const change of listed) {
    if (!json) io.out(changeText(change));
    const isTaken = await isAccepted(change, wanted, json ? undefined : io.ask);
    if (json) printJson(io, { ...toolReview(change), accepted: isTaken });
    if (isTaken) accepted.push(change.now as UpstreamTool);
  }
  if (!json) io.out(otherTools(changes.filter(({ isNamed }) => !isNamed)));
  if (accepted.length > 0) await keep(files, accepted);
  const left = listed.length - accepted.length;
  if (!json) io.out(left === 0 ? 'Nothing is left to review\n' : `${left} left to review\n`);
  return left;
}

async function toolsOf(read: Reviewed, files: GuardFiles, io: Io) {
  const log = createLog('warn');
  const upstream = await connectUpstream(read.policy.upstream, {
    files,
    env: io.env,
    platform: system,
    log,
  });
  try {
    return await upstream.tools();
  } finally {
    await upstream.close();
  }
}

interface Accepted {
  readonly name: string;
  readonly digest: string;
}

function refuseStray(wanted: readonly Accepted[], listed: readonly ToolChange[]): void {
  const stray = wanted.find(({ name }) => !listed.some((change) => change.name === name));
  if (!stray) return;
  throw new Error(`there is nothing to accept for "${printableLine(stray.name, NAME_LENGTH_MAX)}"`);
}

/**
 * `tool=digest`. The name itself may contain the sign. The digest is whole: an upstream can compute two definitions
 * whose digests begin alike, and show one of them.
 */
function acceptedIn(text: string): Accepted {
  const at = text.lastIndexOf('=');
  const digest = text.slice(at + 1);
  if (at > 0 && HexHash.safeParse(digest).success) return { name: text.slice(0, at), digest };
  throw new Error('expected --accept <tool>=<digest> with all 64 digits of the digest');
}

/** The tool as it was shown is the one that is kept: a digest decides, not the name. */
async function isAccepted(change: ToolChange, wanted: readonly Accepted[], ask: Io['ask']) {
  if (!change.now) return false;
  const digest = toolDigest(change.now);
  const named = wanted.find(({ name }) => name === change.name);
  const fault = inputFault(change.now);
  if (named) {
    const tool = `"${printableLine(change.name, NAME_LENGTH_MAX)}"`;
    if (digest !== named.digest) throw new Error(`${tool} has the digest ${digest} now`);
    if (fault !== undefined) throw new Error(`${tool} cannot be offered: ${fault}`);
    return true;
  }
  if (fault !== undefined) return false;
  return wanted.length === 0 && answersYes({ ask }, 'Accept it? [y/N] ');
}

/** Reads the lock again: another person may have reviewed other tools meanwhile. */
async function keep(files: GuardFiles, accepted: readonly UpstreamTool[]): Promise<void> {
  const read = readGuardFiles(files);
  if ('faults' in read) throw new Error(read.faults.join('\n'));
  const by = { at: new Date(system.now()), who: reviewer() };
  await writeLock(files, pinned(read.pins, accepted, by));
}

function changeText(change: ToolChange): string {
  const { name, kind, digest = '', parts } = toolReview(change);
  const fault = change.now && inputFault(change.now);
  const tool = `"${printableLine(name, NAME_LENGTH_MAX)}"`;
  if (kind === 'gone') return `${tool} is gone: the upstream no longer offers it\n\n`;
  const state = kind === 'new' ? 'not reviewed yet' : 'changed';
  const lines = [
    `${tool} is ${state} (${digest}). The upstream's words:`,
    ...parts.flatMap((part) => partLines(part, kind === 'new')),
    ...(fault === undefined ? [] : [`It cannot be offered: ${printable(fault)}`]),
  ];
  return `${lines.join('\n')}\n\n`;
}

function partLines(
  { part, before, now }: ToolReview['parts'][number],
  isNew: boolean,
): readonly string[] {
  const path = printable(part);
  if (isNew) return [`  ${path}: ${words(now)}`];
  return [`  ${path}`, `    - ${words(before)}`, `    + ${words(now)}`];
}

/** Whole: a person does not accept what was not shown. */
function words(text: string): string {
  return text === '' ? '(nothing)' : `"${printable(text)}"`;
}

/** Tools that the policy does not name, with the line that would offer each. */
function otherTools(changes: readonly ToolChange[]): string {
  if (changes.length === 0) return '';
  const lines = changes
    .slice(0, OTHERS_MAX)
    .map(({ name }) => `  ${printable(JSON.stringify(name))}: { effect: … }`);
  const more = changes.length - OTHERS_MAX;
  if (more > 0) lines.push(`  and ${more} more`);
  return `The policy does not name these. To offer one, add its line below "tools:", with its effect\n(read, write, transactional or irreversible), and review it:\n${lines.join('\n')}\n\n`;
}
