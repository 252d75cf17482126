/**
 * Sessions of people: from which browser, since when, and how one is ended.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { personOf } from '../../../domain/decision/values.ts';
import type { SessionList } from '../../../protocol/console/views.ts';
import { ask } from '../../api.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Ago, Fact, Left, Person, Pill, Shown } from '../../parts/elements.tsx';
import { Ready, useLoaded } from '../../parts/loaded.tsx';
import { Fold, Row } from '../../parts/panels.tsx';
import { growth } from '../growth.ts';
import { type Done, Outcome } from '../outcome.tsx';
import { lastOf } from './answers.ts';
import { Turning } from './turning.tsx';

type Session = SessionList['sessions'][number];

const PAGE = 20;

export function Sessions({ mayEnd }: { readonly mayEnd: boolean }) {
  const cursors = useSignal<readonly string[]>([]);
  const cursor = cursors.value.at(-1);
  const [ending, choose] = useState<Session>();
  const [done, setDone] = useState<Done>();
  const loaded = useLoaded(
    () => ask('operations.sessions', { limit: PAGE, cursor }),
    [cursor, growth.value],
  );
  const page = lastOf(loaded);
  const isPart = cursors.value.length > 0 || page?.next_cursor !== null;
  return (
    <Fold
      title="Sessions"
      icon="person"
      state={page && (isPart ? `${PAGE}+` : page.sessions.length)}
    >
      <Outcome of={done} />
      <Ready of={loaded} what="The list of sessions">
        {({ sessions, next_cursor }) => (
          <>
            <Listed of={sessions} onEnd={mayEnd ? choose : undefined} />
            <Turning what="sessions" cursors={cursors} next={next_cursor} />
          </>
        )}
      </Ready>
      <EndSessionDialog
        of={ending}
        onClose={() => choose(undefined)}
        onDone={(words) => {
          setDone({ words });
          loaded.again();
        }}
      />
    </Fold>
  );
}

function Listed({
  of,
  onEnd,
}: {
  readonly of: readonly Session[];
  readonly onEnd: ((session: Session) => void) | undefined;
}) {
  if (of.length === 0) return <p>No person is signed in.</p>;
  return (
    <ul class="list">
      {of.map((session) => (
        <Row
          key={session.session_id}
          icon="person"
          title={
            <>
              <Shown text={personOf(session.principal)} />{' '}
              {session.is_this ? <Pill state="act">This one</Pill> : null}
            </>
          }
          side={
            onEnd ? (
              <button type="button" class="little danger" onClick={() => onEnd(session)}>
                End session…
              </button>
            ) : null
          }
        >
          <p>
            Since <Ago at={session.created_at} /> · seen <Ago at={session.seen_at} /> ·{' '}
            <Left until={session.expires_at} />
          </p>
          <p>
            {session.how === 'key' ? 'With a key' : <Shown text={`By ${session.how}`} />},{' '}
            <Shown text={session.user_agent} />
          </p>
        </Row>
      ))}
    </ul>
  );
}

interface EndSessionDialogProps {
  readonly of: Session | undefined;
  onClose(): void;
  onDone(words: string): void;
}

function EndSessionDialog({ of, onClose, onDone }: EndSessionDialogProps) {
  const end = async () => {
    if (!of) return;
    const { ended } = await ask('operations.end_session', { session_id: of.session_id });
    const words = ended ? 'Ended' : 'It was over already';
    onDone(`${words}: a session of ${personOf(of.principal)}.`);
  };
  return (
    <Confirm
      open={of !== undefined}
      onClose={onClose}
      title={
        of ? (
          <>
            End this session of <Person of={of.principal} />?
          </>
        ) : (
          ''
        )
      }
      back="Keep it"
      confirm="End session"
      look="final"
      onConfirm={end}
    >
      <dl class="facts">
        <Fact term="Ends">
          {of?.is_this
            ? 'Your own session in this browser: this page stops working at once.'
            : 'The session of this browser. Its pages stop working at once.'}
        </Fact>
        <Fact term="Stays">
          Agents, and other sessions of the same person. The person can sign in again.
        </Fact>
      </dl>
    </Confirm>
  );
}
