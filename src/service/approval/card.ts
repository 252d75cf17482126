/**
 * Cards: what people read in Slack and by email about an approval request.
 *
 * A card says in one line who asks for what, and leads to the page where people decide. It decides nothing. It has no
 * words of the agent and no parameter, except those that the approval policy names (`card_inputs`). Text of callers
 * is bounded, its hidden characters are marked, and it cannot become a link, a mention or a format.
 *
 * @module
 */

import { titleParts } from '../../domain/catalog/title.ts';
import { moneyInputs } from '../../domain/decision/claims.ts';
import { moneyValue, personOf, plain } from '../../domain/decision/values.ts';
import { isHeld } from '../../domain/decision/words.ts';
import { effectOf, titleOf } from '../../domain/sign-in/consent-words.ts';
import { exact } from '../../domain/values/time-words.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import { visibleText } from '../../domain/wire/visible-text.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { ApprovalRecord, DeliveryRecord } from '../../storage/port/records.ts';
import { handsIn } from './approvers.ts';

export interface Card {
  /** Who asks for what, or what was decided. */
  readonly line: string;
  readonly facts: readonly (readonly [name: string, text: string])[];
  /** The page where people decide; null where they cannot sign in. */
  readonly link: string | null;
}

export interface CardSource {
  readonly event: DeliveryRecord['event'];
  readonly request: ApprovalRecord;
  /** Absent where the service no longer has it. */
  readonly capability: Capability | undefined;
  readonly serviceId: string;
  /** The inputs whose values a card may show. */
  readonly inputs: readonly string[];
  readonly link: string | null;
}

/** Code points of one text of a caller. A name may have 256, and five of them stand in one line. */
const TEXT_MAX = 100;

/** Values that a card shows. More belong on the page. */
const INPUTS_MAX = 10;

export function cardOf(source: CardSource): Card {
  const { event, request, capability, serviceId, inputs, link } = source;
  const { cost, approvals, approvals_required, parameters } = request;
  const hands = handsIn(request).map(nameText);
  return {
    line: lineOf(source),
    facts: [
      ['Capability', request.capability],
      ['Asks', hands.join(' ← ')],
      ...(capability ? [['Effect', effectOf(capability).words] as const] : []),
      ...(cost
        ? [['Cost', `${isHeld(capability ?? null) ? 'at most ' : ''}${plain(cost)}`] as const]
        : []),
      ...inputs
        .slice(0, INPUTS_MAX)
        .filter((name) => Object.hasOwn(parameters, name))
        .map((name) => [calmed(name), valueText(parameters[name])] as const),
      ['Approved', `${approvals.length} of ${approvals_required}`],
      ...(event === 'requested'
        ? [['Expires', exact(request.expires_at.toISOString())] as const]
        : []),
      ['Service', serviceId],
      ['Request', request.approval_request_id],
    ],
    link,
  };
}

function lineOf(source: CardSource): string {
  const { event, request } = source;
  const [agent = '', ...others] = handsIn(request).map(nameText);
  const act = `“${actOf(source)}”`;
  const root = others.at(-1);
  const who = root === undefined ? agent : `${agent} for ${root}`;
  if (event === 'requested') return `${who} asks to use ${act}`;
  if (event === 'expired') return `${who} asked to use ${act}: expired without a decision`;
  const isGranted = event === 'granted';
  const names = isGranted
    ? request.approvals.map(({ approver }) => approver)
    : [request.decided_by ?? ''];
  const by = names.filter(Boolean).map(nameText).join(' and ');
  const outcome = isGranted ? 'approved' : 'denied';
  return `${who} asked to use ${act}: ${outcome}${by === '' ? '' : ` by ${by}`}`;
}

/** The title with the values that a card may show; the names of the others stand in brackets. */
function actOf({ request, capability, inputs }: CardSource): string {
  if (capability?.title === undefined) return titleOf(request.capability);
  const { parameters } = request;
  const currencies = moneyInputs(capability, parameters);
  const words = titleParts(capability.title).map((part) => {
    if (typeof part === 'string') return part;
    const { input } = part;
    const isShown = inputs.includes(input) && Object.hasOwn(parameters, input);
    if (!isShown) return `[${titleOf(input).toLowerCase()}]`;
    const money = moneyValue(parameters[input], currencies.get(input));
    return money ? plain(money) : valueText(parameters[input]);
  });
  return words.join('');
}

/** The mailbox of a person stays as it is: people know each other by it. */
function nameText(principal: string): string {
  const name = personOf(principal);
  const isMailbox = /^human:[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9.-]{1,64}$/.test(principal);
  return isMailbox ? name : calmed(name);
}

function valueText(value: unknown): string {
  return calmed(typeof value === 'string' ? value : canonicalJson(value));
}

/**
 * One line of bounded length that no program turns into a link. Control characters, line breaks among them, become
 * marks.
 */
function calmed(text: string): string {
  const points = [...text.slice(0, 2 * TEXT_MAX + 2)];
  // Marks are longer than what they stand for, so the text is cut before and after.
  const shown = [...visibleText(points.slice(0, TEXT_MAX).join(''))];
  const isCut = points.length > TEXT_MAX || shown.length > 2 * TEXT_MAX;
  return unlinked(`${shown.slice(0, 2 * TEXT_MAX).join('')}${isCut ? '…' : ''}`);
}

/** Programs that show mail and messages make links of addresses, of names of hosts and of mailboxes. */
function unlinked(text: string): string {
  return text.replaceAll('://', '[:]//').replaceAll(/\.(?=\p{L})/gu, '[.]');
}
