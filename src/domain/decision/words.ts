/**
 * A request in words: the question that the approver answers, what was decided, and which amounts it is about.
 *
 * The words come from the declaration, the cost and the policy. A value of the agent stands in them only as a value:
 * bounded, with its hidden characters marked, and in quotes unless it is one word.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import { isCurrency } from '../../protocol/currencies.ts';
import type { Decision, HistoryItem } from '../../protocol/decision.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import { titleParts } from '../catalog/title.ts';
import { effectOf, titleOf } from '../sign-in/consent-words.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { moneyInputs, namesWords } from './claims.ts';
import { sortedNames } from './hidden.ts';
import { type Fact, marked, type Piece, type Words } from './pieces.ts';
import { moneyValue, numberWords, plain } from './values.ts';

/** What the words of a call are made of. */
interface CallAsked {
  readonly name: string;
  /** Null where the service no longer has it. */
  readonly capability: Capability | null;
  readonly parameters: JsonObject;
  readonly cost: Money | null;
}

/** "Refund 250.00 USD to C-7?", and "You approved: Refund 250.00 USD to C-7." once it is decided. */
export function headingWords(of: Decision): Words {
  const { status, approvals, decided_by } = of.request;
  const title = titleWords(of);
  if (status === 'pending') return [...title, '?'];
  if (status === 'expired') return ['Expired: ', ...title, '.'];
  const isApproved = status === 'approved';
  const by = isApproved ? approvals.map(({ approver }) => approver) : [decided_by ?? ''];
  const names = namesWords(by, of.viewer.principal).replace(/^you/, 'You');
  return [{ shown: names }, isApproved ? ' approved: ' : ' denied: ', ...title, '.'];
}

/** "Refund 250.00 USD to C-7". */
export function titleWords(of: Decision): Words {
  return titleOfCall(callOf(of));
}

function callOf({ request, capability, cost }: Decision): CallAsked {
  const { capability: name, parameters } = request;
  return { name, capability, parameters, cost };
}

/**
 * The title that the author wrote, with the values of the call; without one "Write file notes.md" or "Issue refund:
 * 250.00 USD, booking id BK-1000". The amount stands in each.
 */
export function titleOfCall(of: CallAsked): Words {
  const { name, capability, parameters } = of;
  if (capability?.title === undefined) {
    const object = [...objectOf(of), ...recipientsOf(of)];
    const entities = entitiesOf(of).flatMap((input): Piece[] => [
      `, ${titleOf(input).toLowerCase()} `,
      valuePiece(parameters[input], undefined),
    ]);
    return [titleOf(name), ...object, ...amountWords(of), ...entities];
  }
  const money = moneyInputs(capability, parameters);
  const words = titleParts(capability.title).map((part): Piece => {
    if (typeof part === 'string') return part;
    const value = Object.hasOwn(parameters, part.input) ? parameters[part.input] : undefined;
    return valuePiece(value, money.get(part.input));
  });
  const hasAmount = words.some((piece) => typeof piece === 'object' && 'money' in piece);
  return hasAmount ? words : [...words, ...amountWords(of)];
}

function amountWords(of: CallAsked): Words {
  const asked = amountOf(of);
  return asked ? [`: ${asked.isMost ? 'at most ' : ''}`, { money: asked.amount }] : [];
}

/** In characters: what is longer is cut here. The list of parameters has all. */
const VALUE_LENGTH_MAX = 40;

/** In characters: the name of a file stands at the end of its path. */
const PATH_LENGTH_MAX = 120;

/** What a tool works on, where the name of an input says so. */
const OBJECT_NAMES = ['path', 'file_path', 'filepath', 'file', 'filename', 'uri', 'url'];

/** A longer path is cut at its beginning. */
function objectOf({ parameters }: CallAsked): Words {
  const name = OBJECT_NAMES.find((each) => {
    const value = Object.hasOwn(parameters, each) ? parameters[each] : undefined;
    return typeof value === 'string' && value !== '';
  });
  if (name === undefined) return [];
  const characters = [...(parameters[name] as string).slice(-2 * PATH_LENGTH_MAX - 2)];
  const isCut = characters.length > PATH_LENGTH_MAX;
  const shown = quoted(characters.slice(-PATH_LENGTH_MAX).join(''));
  return [' ', marked('code', [...(isCut ? ['…'] : []), { shown }])];
}

/** To whom a tool sends something, where the name of an input says so, and under which subject. */
const RECIPIENT_NAMES = ['to', 'recipients', 'recipient', 'emails', 'email'];

/** Recipients that a line names. */
const RECIPIENTS_MAX = 2;

function recipientsOf({ parameters }: CallAsked): Words {
  const texts = RECIPIENT_NAMES.flatMap((name) => {
    const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    const list = Array.isArray(value) ? value : [value];
    return list.every((each) => typeof each === 'string' && each !== '') ? [list] : [];
  })[0];
  if (!texts) return [];
  const more = texts.length - RECIPIENTS_MAX;
  const named = texts
    .slice(0, RECIPIENTS_MAX)
    .flatMap((each, at): Piece[] => [
      at === 0 ? ' to ' : more > 0 ? ', ' : ' and ',
      valuePiece(each, undefined),
    ]);
  const { subject } = parameters;
  return [
    ...named,
    ...(more > 0 ? [` and ${more} more`] : []),
    ...(typeof subject === 'string' && subject !== ''
      ? [': ', valuePiece(subject, undefined)]
      : []),
  ];
}

function quoted(text: string): string {
  return WORD.test(text) ? text : JSON.stringify(text);
}

/** One word, which cannot pass for words of the service. */
const WORD = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._@:+/#-]*$/u;

/** A value of the agent in a line of the service. */
function valuePiece(value: unknown, currency: string | undefined): Piece {
  if (value === undefined || value === null) return '(none)';
  const money = moneyValue(value, currency);
  if (money) return { money };
  if (typeof value === 'number') return numberWords(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'string') return Array.isArray(value) ? '(a list)' : '(an object)';
  const characters = [...value.slice(0, 2 * VALUE_LENGTH_MAX + 2)];
  const isCut = characters.length > VALUE_LENGTH_MAX;
  const text = characters.slice(0, VALUE_LENGTH_MAX).join('');
  const words = [{ shown: quoted(text) }, ...(isCut ? ['…'] : [])];
  return WORD.test(text) ? marked('span', words, 'nb') : marked('code', words);
}

/** Words that lead to a value: without it they say nothing. */
const LEADING = /(?: (?:a|an|at|by|for|from|in|into|of|on|the|to|with))+$/i;

/** "refund", "charter one jet": what the author wrote before the first value, otherwise the name. */
function verbOf({ request, capability }: Decision): string {
  const [first = ''] = titleParts(capability?.title ?? '');
  const written = typeof first === 'string' ? first.trim().replace(/[,:;]$/, '') : '';
  return lowered(written.replace(LEADING, '') || titleOf(request.capability));
}

/** "IBAN" stays as it is. */
function lowered(text: string): string {
  return /^\p{Lu}(?!\p{Lu})/u.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** As the object of a verb: "approve refund", but "approve “charter one jet”". */
export function actOf(of: Decision): string {
  const verb = verbOf(of);
  return verb.includes(' ') ? `“${verb}”` : verb;
}

/** Earlier requests of the agent that were approved or wait, about the same thing as this one, and what names it. */
export function relatedTo(of: Decision): { readonly name: string; readonly items: HistoryItem[] } {
  const { parameters } = of.request;
  const paths = OBJECT_NAMES.filter((each) => typeof parameters[each] === 'string');
  const [name = ''] = [...entitiesOf(callOf(of)), ...paths];
  const items = of.history.items.filter(
    (item) =>
      (item.status === 'approved' || item.status === 'pending') &&
      name !== '' &&
      canonicalJson(item.parameters?.[name] ?? null) === canonicalJson(parameters[name] ?? null),
  );
  return { name, items };
}

/** "refund 310.00 USD": what the button of the last step says. */
export function actText(of: Decision): string {
  const verb = verbOf(of);
  const asked = amountOf(callOf(of));
  if (!asked) return verb;
  const [, second] = titleParts(of.capability?.title ?? '');
  const money = moneyInputs(of.capability, of.request.parameters);
  const isNext = typeof second === 'object' && money.has(second.input);
  return `${verb} ${isNext ? '' : 'for '}${asked.isMost ? 'at most ' : ''}${plain(asked.amount)}`;
}

/** Values that the last step repeats. The page has all of them. */
const CONFIRMED_MAX = 4;

/** Short values of the preview, otherwise of the call, that the title does not have. */
export function confirmedValues(of: Decision): Fact[] {
  const { preview, parameters } = of.request;
  const values = preview ?? parameters;
  const inTitle = titleParts(of.capability?.title ?? '').map((part) =>
    typeof part === 'string' ? '' : part.input,
  );
  const isShown = (name: string) => {
    const value = values[name];
    if (inTitle.includes(name) || typeof value === 'object') return false;
    const text = String(value);
    return text.length <= 2 * VALUE_LENGTH_MAX && lowered(text) !== verbOf(of);
  };
  return sortedNames(values)
    .filter(isShown)
    .slice(0, CONFIRMED_MAX)
    .map((name) => ({ label: [{ shown: name }], words: [{ shown: String(values[name]) }] }));
}

interface AmountAsked {
  readonly amount: Money;
  /** The call may cost less. */
  readonly isMost: boolean;
}

/** The amount that the policy looks at, otherwise what the call may cost. */
function amountOf({ capability, parameters, cost }: CallAsked): AmountAsked | undefined {
  for (const [name, currency] of moneyInputs(capability, parameters)) {
    const amount = parameters[name];
    if (typeof amount === 'number') return { amount: { amount, currency }, isMost: false };
  }
  if (!cost || cost.amount === 0) return undefined;
  return { amount: cost, isMost: isHeld(capability) };
}

/** Whether the cost of a request is only a bound: the cost of an estimated call is its price, a quote or a function. */
export function isHeld(capability: Capability | null): boolean {
  return capability?.cost?.certainty === 'dynamic';
}

/** The names of parameters that identify something: the declaration or the name of the input says so. */
function entitiesOf({ capability, parameters }: CallAsked): string[] {
  return (capability?.inputs ?? [])
    .filter(({ name, entity_reference, catalog_ref, semantic_type, resolution }) =>
      Boolean(
        entity_reference ||
          catalog_ref ||
          resolution ||
          semantic_type === 'entity_reference' ||
          /(?:^|_)id$/.test(name),
      ),
    )
    .map(({ name }) => name)
    .filter((name) => isShort(parameters[name]));
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && [...value].length <= VALUE_LENGTH_MAX;
}

/** What happens to the world, in a sentence. */
export function effectSentence({ capability, cost }: Decision): string {
  if (!capability) return 'The service no longer has this capability.';
  const { kind, words } = effectOf(capability);
  const money =
    cost && cost.amount > 0 && isCurrency(cost.currency)
      ? `${kind === 'final' ? 'Money leaves. ' : 'It costs money. '}`
      : '';
  return `${money}${kind === 'final' ? 'It cannot be undone.' : `${words}.`}`;
}

/** How the call can be undone, and until when. */
export function undoSentence({ capability }: Decision): string {
  if (!capability) return 'Not known.';
  const { type, compensation } = capability.side_effect;
  if (type === 'read') return 'Nothing changes.';
  const by = compensation === undefined ? '' : ` by “${titleOf(compensation)}”`;
  if (type === 'transactional') return `${effectOf(capability).words}${by}, counted from the call.`;
  if (compensation !== undefined) return `The effect is permanent; it can be balanced${by}.`;
  return type === 'irreversible' ? 'Not possible.' : 'The service declares no way to undo it.';
}
