/**
 * What the service needs to reach, and whether it can be reached itself.
 *
 * Requests have a time limit, follow no redirect, read a bounded answer and carry no credential.
 *
 * @module
 */

import { lookup } from 'node:dns/promises';
import type { Config } from '../../config/config.ts';
import { isObject } from '../../domain/wire/json.ts';
import { parseJsonBytes } from '../shell/files.ts';
import { remoteAt } from '../shell/remote.ts';
import { type Finding, faultFinding, okFinding, reasonOf, warn } from './finding.ts';
import { checkClock } from './store-check.ts';

/** The Date header has whole seconds. */
const DATE_STEP_MS = 500;

export async function checkService(
  address: string,
  isAsked: boolean,
  now: () => number,
): Promise<Finding[]> {
  const bad = isAsked ? faultFinding : warn;
  try {
    const remote = remoteAt(address);
    const health = await remote.ask('GET', '/healthz');
    const alive =
      health.status === 200
        ? okFinding('service', `${remote.url} answers`)
        : bad('service', `${remote.url}/healthz answered ${health.status}`, 'look into its log');
    const date = Date.parse(health.headers.get('date') ?? '');
    const clock = Number.isNaN(date) ? [] : [checkClock('service', date + DATE_STEP_MS, now())];
    return [alive, ...clock, await checkReady(remote, bad)];
  } catch (error) {
    return [
      bad('service', reasonOf(error), 'start the service, or check the address and the proxy'),
    ];
  }
}

async function checkReady(
  remote: ReturnType<typeof remoteAt>,
  bad: typeof faultFinding,
): Promise<Finding> {
  const { status, body } = await remote.ask('GET', '/readyz');
  if (status === 200) return okFinding('service', 'ready');
  const json = parseJsonBytes(body, 'the answer');
  const reasons = isObject(json) && Array.isArray(json.reasons) ? json.reasons.join('; ') : status;
  return bad('service', `not ready: ${reasons}`, 'see docs/operating.md');
}

/** Providers, targets of notifications and witnesses. */
export async function checkReach(config: Config): Promise<Finding[]> {
  const providers = config.oidc.map(({ issuer }) => checkIssuer(issuer));
  const targets = config.webhooks.map((webhook) => checkTarget(webhook));
  const witnesses = config.witnesses.map(({ url }) => checkWitness(url));
  return Promise.all([...providers, ...targets, ...witnesses]);
}

async function checkIssuer(issuer: string): Promise<Finding> {
  const what = 'provider';
  try {
    const remote = remoteAt(issuer);
    const { status, body } = await remote.ask('GET', '/.well-known/openid-configuration');
    if (status !== 200) throw new Error(`"${remote.url}" answered ${status} for its discovery`);
    const document = parseJsonBytes(body, `the discovery of "${remote.url}"`);
    const named = isObject(document) ? document.issuer : undefined;
    if (named === issuer) return okFinding(what, `${issuer} answers`);
    throw new Error(`the discovery of "${issuer}" names another issuer`);
  } catch (error) {
    return faultFinding(
      what,
      reasonOf(error),
      'people cannot sign in: check the issuer and the network',
    );
  }
}

async function checkTarget({ url }: { readonly url?: string | undefined }): Promise<Finding> {
  const what = 'webhook';
  const host = url === undefined ? undefined : new URL(url).hostname;
  if (host === undefined) return okFinding(what, 'its address is not in the configuration');
  try {
    await lookup(host.replace(/^\[|\]$/g, ''));
    return okFinding(what, `the host ${host} has an address`);
  } catch {
    return faultFinding(
      what,
      `the host ${host} has no address`,
      'check its name and the name server',
    );
  }
}

async function checkWitness(url: string): Promise<Finding> {
  try {
    const remote = remoteAt(url);
    await remote.ask('GET', '/');
    return okFinding('witness', `${remote.url} answers`);
  } catch (error) {
    return faultFinding('witness', reasonOf(error), 'start the witness, or check its address');
  }
}
