/**
 * The evidence of the call itself: the preview of the service, all parameters, the agent's own words, the digests.
 *
 * @module
 */

import type { Decision } from '../../protocol/decision.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { exact } from '../values/time-words.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { isObject } from '../wire/json.ts';
import { digestFaults, digestsOf } from './checks.ts';
import { hiddenTexts, moneyInputs } from './claims.ts';
import { sortedNames } from './hidden.ts';
import { empty, type Fact, marked, type PartFacts, type Piece, type Words } from './pieces.ts';
import { countOf, formatted, moneyValue, parameterFacts, personOf } from './values.ts';
import { undoSentence } from './words.ts';

/** Not a fault of the connection: the answer came. */
const LOST = 'The request was made with a preview, and the service answered without it.';

/** Whether the request names a preview that the answer lacks. */
export function isPreviewLost({ request: { preview, preview_digest } }: Decision): boolean {
  return preview === null && preview_digest !== null;
}

export function previewPart(of: Decision): PartFacts {
  const { preview, created_at } = of.request;
  const isLost = isPreviewLost(of);
  const none =
    'The capability had no preview when the agent asked. The parameters below are all that it gets.';
  return {
    title: ['What happens'],
    aside: preview ? ['Preview by the service, ', { at: created_at }] : undefined,
    lead: [
      ...(isLost ? [marked('p', LOST, 'bad')] : []),
      ...(preview === null && !isLost ? [empty(none)] : []),
    ],
    facts: [...previewFacts(of), { label: ['Undo'], words: [undoSentence(of)] }],
  };
}

/** A guard previews the call as it is. */
function previewFacts({ request, capability }: Decision): Fact[] {
  const { parameters } = request;
  const preview = request.preview ?? {};
  const { tool, parameters: sent, ...rest } = preview;
  const isCall = isObject(sent) && canonicalText(sent) === canonicalText(parameters);
  if (typeof tool === 'string' && isCall && Object.keys(rest).length === 0) {
    return [
      {
        label: ['Tool'],
        words: [marked('code', [{ shown: tool }]), ' gets exactly the values below.'],
      },
      ...(capability
        ? [{ label: ['It says'], words: [marked('q', [{ shown: capability.description }])] }]
        : []),
    ];
  }
  return sortedNames(preview).map((name) => previewFact(name, preview[name], parameters));
}

/** Texts without quotes; everything else also as it is stored. */
function previewFact(name: string, value: unknown, parameters: JsonObject): Fact {
  const label = [{ shown: name }];
  const call = canonicalText(parameters);
  const isCall = isObject(value) && call !== undefined && canonicalText(value) === call;
  if (isCall) return { label, words: ['Exactly those below.'] };
  if (typeof value === 'string') return { label, words: [{ shown: value }] };
  const isFormatted = moneyValue(value, undefined) !== undefined || typeof value === 'boolean';
  return { label, words: isFormatted ? formatted(value, undefined) : [{ json: value }] };
}

export function parametersPart({ request, capability }: Decision): PartFacts {
  const money = moneyInputs(capability, request.parameters);
  const facts = parameterFacts(request.parameters, capability?.inputs, money);
  const count = facts.length;
  return {
    title: [count === 1 ? 'The only value' : `All ${countOf(count, 'value')}`],
    aside: [marked('code', request.capability)],
    lead: count === 0 ? [empty('The call has no values.')] : [],
    facts,
  };
}

/** The agent's words are in its own voice, so they cannot pass for those of the service. */
export function wordsPart({ request: { note, requester } }: Decision): PartFacts {
  const who: Words = [
    { shown: personOf(requester.subject) },
    ' says ',
    marked('span', 'written by the agent, not checked', 'muted'),
  ];
  return {
    title: ["The agent's words"],
    lead: note ? [] : [empty('The agent gave no reason.')],
    facts: note ? [{ label: who, words: [marked('blockquote', [{ shown: note }])] }] : [],
  };
}

/** One notice for all characters that a reader would not see or would mistake; empty where there are none. */
export function hiddenNotice(of: Decision): Words {
  const found = hiddenTexts(of);
  if (found.length === 0) return [];
  const count = found.reduce((sum, { hidden }) => sum + hidden.length, 0);
  return [
    marked('b', [
      `${countOf(count, 'hidden character')} in `,
      ...found.flatMap(({ path }, at): Piece[] => [
        at === 0 ? '' : ', ',
        marked('code', [{ shown: path }]),
      ]),
    ]),
    '. Text with such characters can look like other text. An honest request rarely has one: deny if you are unsure.',
  ];
}

/** Whether a digest of the request is not of what is shown: its heading says so, and it opens itself. */
export function isEvidenceBad({ request }: Decision): boolean {
  return digestFaults(request).length > 0;
}

/** Computed from what is shown, and compared with those of the request. `where` names what computes them. */
export function digestsPart(of: Decision, where: string): PartFacts {
  const { request, capability } = of;
  const { parameters, preview } = digestsOf(request);
  const count = preview === null ? 1 : 2;
  const result = isEvidenceBad(of)
    ? marked('span', '✕ A digest differs from what the agent asked', 'bad')
    : marked(
        'span',
        `✓ ${countOf(count, 'digest')} ${count === 1 ? 'matches' : 'match'} what the agent asked`,
        'good',
      );
  return {
    title: ['Evidence'],
    aside: [result],
    lead: [marked('p', `SHA-256 of canonical JSON, computed ${where}.`, 'small muted')],
    facts: [
      {
        label: ['Parameters'],
        words: digestWords(parameters, request.requested_parameters_digest, 'parameters'),
      },
      {
        label: ['Preview'],
        words:
          preview === null
            ? ['The request has none.']
            : digestWords(preview, request.preview_digest, 'preview'),
      },
      {
        label: ['Canonical'],
        words: [marked('code', [{ shown: canonicalText(request.parameters) ?? 'none' }])],
      },
      { label: ['Request'], words: [marked('code', request.approval_request_id)] },
      {
        label: ['Capability'],
        words: [
          marked('code', request.capability),
          ` ${request.contract_version ?? ''} `,
          ...(capability ? [marked('small', capability.description)] : []),
        ],
      },
      { label: ['Scopes'], words: [marked('code', request.scope.join(' '))] },
      {
        label: ['Times'],
        words: [`asked ${exact(request.created_at)}, ends ${exact(request.expires_at)}`],
      },
    ],
  };
}

/** As it is hashed. What cannot be hashed has none. */
function canonicalText(value: object): string | undefined {
  try {
    return canonicalJson(value);
  } catch {
    return undefined;
  }
}

function digestWords(computed: string | undefined, expected: string | null, of: string): Words {
  const isSame = computed !== undefined && computed === expected;
  return [
    { hash: computed ?? '', what: `the digest of the ${of}` },
    isSame
      ? marked('p', '✓ Matches what the agent asked', 'small good')
      : marked('p', '✕ Differs from what the agent asked', 'small bad'),
  ];
}
