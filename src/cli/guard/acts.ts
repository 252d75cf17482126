/**
 * What becomes an entry of the log when a guard's tools or reviews change. Pure.
 *
 * @module
 */

import type { Pins, ToolChange } from '../../guard/pins.ts';
import type { OwnAct } from '../../service/caller/own-act.ts';
import type { GuardState } from './state.ts';

/** Entries of one comparison. One more entry has the number of the others. */
const CHANGES_MAX = 20;

/** A tool whose change is worth an entry: the policy names it, or the upstream added it while the guard ran. */
export function changeActs(now: GuardState, before: GuardState | undefined): OwnAct[] {
  const known = new Set((before?.changes ?? []).map(changeText));
  const fresh = now.changes.filter(
    (change) =>
      !known.has(changeText(change)) &&
      (change.isNamed || (before !== undefined && 'tools' in before.listing)),
  );
  const more = fresh.length - CHANGES_MAX;
  const acts = fresh.slice(0, CHANGES_MAX).map(changeAct);
  if (more <= 0) return acts;
  const about = { tool: `and ${more} more`, change: 'see "writ guard review"' };
  return [...acts, { verb: 'guard_tool_off', about }];
}

/** An act for each tool that a person reviewed since. */
export function reviewActs(before: Pins, now: Pins): OwnAct[] {
  return [...now.tools]
    .filter(([name, { digest }]) => before.tools.get(name)?.digest !== digest)
    .slice(0, CHANGES_MAX)
    .map(([tool, { digest, reviewedBy }]) => ({
      verb: 'guard_tool_reviewed',
      about: { tool, digest, reviewed_by: reviewedBy },
    }));
}

function changeAct({ name, kind, digest, parts }: ToolChange): OwnAct {
  const changed = parts.map(({ part }) => part);
  const [first] = parts;
  return {
    verb: 'guard_tool_off',
    about: {
      tool: name,
      change: kind,
      ...(digest !== undefined && { digest }),
      ...(changed.length > 0 && { parts: changed }),
      ...(first && { before: first.before, now: first.now }),
    },
  };
}

function changeText({ name, kind, digest = '' }: ToolChange): string {
  return JSON.stringify([name, kind, digest]);
}
