/**
 * The first run of a guard: asks the upstream for its tools and a person which ones to offer, and writes the policy
 * and the lock. Offering a tool here is its review.
 *
 * Writes nothing before the person has answered, and never over an existing policy.
 *
 * @module
 */

import { rm } from 'node:fs/promises';
import { basename, relative, resolve } from 'node:path';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import { readOpenApi } from '../../guard/http/openapi.ts';
import { NO_PINS, pinned } from '../../guard/pins.ts';
import { draftPolicy } from '../../guard/policy/draft.ts';
import { readPolicy } from '../../guard/policy/read.ts';
import type { UpstreamPolicy } from '../../guard/policy/upstream-schema.ts';
import type { Upstream } from '../../guard/upstream.ts';
import type { Platform } from '../../platform.ts';
import type { Io } from '../shell/command.ts';
import { bytesIn } from '../shell/files.ts';
import { reviewer } from './changed.ts';
import { type GuardFiles, readGuardFiles, writeLock, writeNewPolicy } from './files.ts';
import {
  askOffer,
  contextLine,
  guessed,
  NAME_LENGTH_MAX,
  printableLine,
  toolTable,
} from './offer.ts';
import type { GivenUpstream, GuardOptions } from './options.ts';

export interface FirstRun {
  readonly files: GuardFiles;
  readonly options: GuardOptions;
  readonly platform: Platform;
  readonly io: Io;
  /** Prints for the person. */
  tell(text: string): void;
  open(policy: UpstreamPolicy): Promise<Upstream>;
}

/** Resolves with the upstream, which is open. */
export async function firstRun(run: FirstRun): Promise<Upstream> {
  const { files, options, tell } = run;
  const { upstream: given } = options;
  if (!given) {
    throw new Error(
      `there is no "${basename(files.policy)}" here; name what to guard: writ guard -- <command>, --url <address> or --openapi <file>`,
    );
  }
  const policy = withOrigin(upstreamOf(given, files), run);
  const id = options.id ?? idOf(given);
  const upstream = await run.open(policy);
  try {
    const tools = guessed(await upstream.tools());
    if (tools.length === 0) throw new Error('the upstream offers no tools');
    tell(toolTable(tools));
    tell(contextLine(tools.map(({ tool }) => tool)));
    const otherwise = given.openapi === undefined ? 'reads' : undefined;
    const offered = await askOffer(tools, { offer: options.offer, otherwise }, run.io);
    const text = draftPolicy({
      id,
      upstream: policy,
      tools: tools.map((each) => ({ ...each, isOffered: offered.has(each.tool.name) })),
      toolsAs: options.tools,
    });
    const read = readPolicy(text);
    if ('faults' in read) {
      const [first] = read.faults;
      throw new Error(`the policy would have a fault: ${first?.where}: ${first?.why}`);
    }
    const reviewed = tools.map(({ tool }) => tool).filter(({ name }) => offered.has(name));
    const by = { at: new Date(run.platform.now()), who: reviewer() };
    await writeNewPolicy(files, text);
    await writeLock(files, pinned(NO_PINS, reviewed, by)).catch(async (error: unknown) => {
      await rm(files.policy);
      throw error;
    });
    tell(`Wrote ${files.policy} and ${files.lock}\n`);
    return upstream;
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

/** Where the API is: as the command line says it, else as the document suggests. The person reads which one it is. */
function withOrigin(policy: UpstreamPolicy, { files, tell }: FirstRun): UpstreamPolicy {
  if (policy.openapi === undefined) return policy;
  const file = resolve(files.policy, '..', policy.openapi);
  const read = readOpenApi(new TextDecoder().decode(bytesIn(file)));
  if ('fault' in read) throw new Error(`"${policy.openapi}": ${read.fault}`);
  const { skipped, servers } = read;
  for (const { operation, why } of skipped.slice(0, SKIPPED_MAX)) {
    tell(
      `Cannot offer ${printableLine(operation, NAME_LENGTH_MAX)}: ${printableLine(why, 2 * NAME_LENGTH_MAX)}\n`,
    );
  }
  const more = skipped.length - SKIPPED_MAX;
  if (more > 0) tell(`Cannot offer ${more} more operations\n`);
  if (policy.origin !== undefined) return policy;
  const [origin, second] = servers;
  if (origin !== undefined && second === undefined) {
    tell(`The document says that the API is at ${printableLine(origin, 4 * NAME_LENGTH_MAX)}\n`);
    return { ...policy, origin };
  }
  const named = servers.map((each) => printableLine(each, 2 * NAME_LENGTH_MAX)).join(', ');
  const found = named === '' ? 'the document names no server' : `the document names ${named}`;
  throw new Error(`${found}; say where the API is with --origin`);
}

/** Lines about operations that cannot be offered. */
const SKIPPED_MAX = 10;

/**
 * A run with a policy: an agent starts the guard each time with the same words, so they may name the upstream again,
 * but no other one.
 */
export function laterRun({ files, options }: Pick<FirstRun, 'files' | 'options'>): undefined {
  const { upstream: given } = options;
  const read = readGuardFiles(files);
  if (!given || 'faults' in read) return undefined;
  const policy = { ...read.policy.upstream };
  const meant = upstreamOf(given, files);
  if (canonicalJson({ ...policy, ...meant }) === canonicalJson(policy)) return undefined;
  throw new Error(
    `"${basename(files.policy)}" exists and has another upstream; edit it, or give another --policy`,
  );
}

/** As the policy says it: paths are relative to the policy. */
function upstreamOf(given: GivenUpstream, files: GuardFiles): UpstreamPolicy {
  const { command, env, openapi, ...rest } = given;
  return {
    ...rest,
    ...(command && { command: [...command] }),
    ...(env && { env: [...env] }),
    ...(openapi !== undefined && {
      openapi: `./${relative(resolve(files.policy, '..'), resolve(openapi))}`,
    }),
  };
}

/** A name for the guard, from what is guarded. */
function idOf({ command, url, openapi }: GivenUpstream): string {
  const from =
    url !== undefined
      ? new URL(url).hostname
      : openapi !== undefined
        ? basename(openapi).replace(/\.[a-z]+$/i, '')
        : basename(command?.filter((word) => !word.startsWith('-')).at(1) ?? command?.[0] ?? '');
  const name = from
    .replace(/^(?:mcp-)?server-/, '')
    .replace(/@.*$|\.(?:[cm]?[jt]s|py)$/, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|-+$/g, '')
    .slice(0, 40);
  return name === '' ? 'guard' : name;
}
