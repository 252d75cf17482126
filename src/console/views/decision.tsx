/**
 * The page of one request: everything that a person needs to decide it, and the decision.
 *
 * It asks again every few seconds, so a decision of somebody else appears. What was asked must stay the same while
 * it is read.
 *
 * @module
 */

import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import { decisionIdentity, faultsOf } from '../../domain/decision/checks.ts';
import { hiddenTexts } from '../../domain/decision/claims.ts';
import { hiddenNotice } from '../../domain/decision/evidence.ts';
import type { PartName } from '../../domain/decision/facts.ts';
import { firstTerms } from '../../domain/decision/terms.ts';
import { wordsText } from '../../domain/decision/text.ts';
import { headingWords } from '../../domain/decision/words.ts';
import type { GrantTerms } from '../../protocol/approval.ts';
import type { Decision } from '../../protocol/decision.ts';
import { ask, connection, heardAt, now } from '../api.ts';
import { announce } from '../parts/announce.ts';
import { Shown } from '../parts/elements.tsx';
import { Failed, type Loaded, Loading, useLoaded, whyOf } from '../parts/loaded.tsx';
import { Notice } from '../parts/panels.tsx';
import { neighbour, useTitle } from '../parts/title.ts';
import { Marked } from '../parts/words.tsx';
import { hrefOf } from '../router.ts';
import { Bar } from './decision/bar.tsx';
import { ShownParts } from './decision/part.tsx';
import {
  AgentsWords,
  AllParameters,
  Budgets,
  Changes,
  DigestList,
  Hands,
  Past,
  Preview,
  Summary,
  Terms,
} from './decision/parts.tsx';
import { TermsEditor } from './decision/terms.tsx';

/** In milliseconds. */
const AGAIN_MS = 4_000;

export function DecisionView({ id }: { readonly id: string }) {
  const turn = useComputed(() => Math.floor(heardAt.value / AGAIN_MS));
  const decision = useLoaded(() => decisionOf(id), [id, turn.value]);
  const [error] = useErrorBoundary();
  const value = decision.state === 'loading' ? undefined : decision.value;
  useNeighbour(id);
  useTitle(
    value && !error
      ? `${wordsText(headingWords(value), now.peek())} · Approvals`
      : 'Approval request',
  );
  // One heading for all states: it keeps the focus.
  return (
    <>
      <h1 class="ask">
        {value && error === undefined ? <Marked of={headingWords(value)} /> : 'Approval request'}
      </h1>
      {error === undefined ? (
        <Body decision={decision} value={value} />
      ) : (
        <Notice state="bad" isAlert>
          The request could not be shown, so it cannot be approved here:{' '}
          <Shown text={whyOf(error)} />
        </Notice>
      )}
    </>
  );
}

/** "1 of 4", by the order of the list, and the request after this one. */
function useNeighbour(id: string): void {
  const inbox = useLoaded(() => ask('inbox', {}), [id]);
  const requests = inbox.state === 'ready' ? inbox.value.requests : [];
  const at = requests.findIndex((each) => each.approval_request_id === id);
  const count = `${requests.length}${inbox.state === 'ready' && inbox.value.next_cursor ? '+' : ''}`;
  const next = requests[at + 1]?.approval_request_id;
  const place = at === -1 ? `${count} waiting` : `${at + 1} of ${count}`;
  useEffect(() => {
    neighbour.value = requests.length === 0 ? undefined : { place, next };
    return () => {
      neighbour.value = undefined;
    };
  }, [place, next, requests.length]);
}

async function decisionOf(id: string): Promise<Decision> {
  const decision = await ask('decision', { approval_request_id: id });
  const { approval_request_id, capability } = decision.request ?? {};
  if (approval_request_id !== id) throw new Error('the answer is not about this request');
  if (typeof capability !== 'string') throw new Error('the answer names no capability');
  return decision;
}

interface BodyProps {
  readonly decision: Loaded<Decision>;
  readonly value: Decision | undefined;
}

function Body({ decision, value }: BodyProps) {
  if (value) return <Page of={value} loaded={decision} />;
  if (decision.state !== 'failed') return <Loading what="everything about this request" />;
  return (
    <>
      <Failed what="The request" why={decision.why} again={decision.again} />
      <p>
        It may be for other people to decide, or be gone.{' '}
        <a href={hrefOf('approvals')}>Back to all requests</a>
      </p>
    </>
  );
}

interface PageProps {
  readonly of: Decision;
  readonly loaded: Loaded<Decision>;
}

function Page({ of, loaded }: PageProps) {
  const parts = useSignal<ReadonlySet<PartName>>(new Set());
  const [chosen, choose] = useState<GrantTerms>();
  const { request, viewer } = of;
  const terms = request.terms ?? chosen ?? firstTerms(request);
  const shown = { of, terms, where: 'in this browser' };
  const isOpen = request.status === 'pending' && viewer.may_decide && !viewer.has_approved;
  const isChanged = useChange(of);
  const faults = faultsNow(of, loaded, isChanged);
  useAnnouncedStatus(request.status);
  return (
    <ShownParts.Provider value={parts}>
      <Summary shown={shown} />
      {isOpen ? faultsOf(of).map((fault) => <Fault key={fault} words={fault} />) : null}
      <HiddenNotice of={of} />
      <div class="cols lean">
        <div>
          <div class="panel">
            <Preview shown={shown} />
            <AllParameters shown={shown} />
            <Changes shown={shown} />
          </div>
          <AgentsWords shown={shown} />
          <Past shown={shown} />
        </div>
        <div>
          <Budgets shown={shown} />
          <Terms
            shown={shown}
            editor={
              isOpen && !request.terms ? (
                <TermsEditor request={request} terms={terms} choose={choose} />
              ) : null
            }
          />
          <Hands shown={shown} />
        </div>
      </div>
      <DigestList shown={shown} />
      <Bar
        of={of}
        terms={terms}
        faults={faults}
        again={isChanged ? () => location.reload() : loaded.again}
      />
    </ShownParts.Provider>
  );
}

/** One notice for all characters that a reader would not see or would mistake. */
function HiddenNotice({ of }: { readonly of: Decision }) {
  const words = hiddenNotice(of);
  if (words.length === 0) return null;
  return (
    <Notice state="warn">
      <Marked of={words} /> <a href={`#${hiddenTexts(of)[0]?.where}`}>See the exact text</a>
    </Notice>
  );
}

function Fault({ words }: { readonly words: string }) {
  return (
    <Notice state="bad" isAlert>
      <h2>Do not rely on this request</h2>
      <p>{words}</p>
    </Notice>
  );
}

/** Whether what was asked is no longer what the person began to read. */
function useChange(of: Decision): boolean {
  const first = useRef(decisionIdentity(of));
  return first.current === undefined || first.current !== decisionIdentity(of);
}

/** What speaks against approving, beyond the parts that are missing. */
function faultsNow(of: Decision, loaded: Loaded<Decision>, isChanged: boolean): string[] {
  const { passkey } = of;
  const more: [boolean, string][] = [
    [loaded.state === 'failed', 'The request did not load again, so it may be out of date.'],
    [connection.value !== 'live', 'The service does not answer, so this may be out of date.'],
    [isChanged, 'The request changed while you read it. Load it again and read it anew.'],
    [
      passkey.is_required && passkey.usable.length === 0,
      'The policy requires a passkey, and you have none that counts now.',
    ],
  ];
  return [...faultsOf(of), ...more.filter(([isFault]) => isFault).map(([, words]) => words)];
}

/** Somebody else may decide while the person reads. */
function useAnnouncedStatus(status: Decision['request']['status']): void {
  const last = useRef(status);
  useEffect(() => {
    if (last.current !== status) announce(`This request is now ${status}`);
    last.current = status;
  }, [status]);
}
