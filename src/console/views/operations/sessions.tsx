/**
 * Sessions of people: from which browser, since when, and how one is ended.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { personOf } from '../../../domain/decision/values.ts';
import type { SessionList } from '../../../protocol/console/views.ts';
import { ask } from '../../api.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Shown } from '../../parts/foreign-text.tsx';
import { Empty, useLoaded } from '../../parts/loaded.tsx';
import { Person } from '../../parts/name.tsx';
import { Pill } from '../../parts/pill.tsx';
import { Ago, Left } from '../../parts/time.tsx';
import { growth } from '../growth.ts';
import { type Done, Outcome } from '../outcome.tsx';
import { Ready } from '../ready.tsx';
import { Turning } from './turning.tsx';

type Session = SessionList['sessions'][number];

const PAGE = 20;

export function Sessions({ mayEnd }: { readonly mayEnd: boolean }) {
  const cursors = useSignal<readonly string[]>([]);
  const cursor = cursors.value.at(-1);
  const ending = useSignal<Session | undefined>(undefined);
  const done = useSignal<Done | undefined>(undefined);
  const loaded = useLoaded(
    () => ask('operations.sessions', { limit: PAGE, cursor }),
    [cursor, growth.value],
  );
  const choose = (session: Session | undefined) => {
    ending.value = session;
  };
  return (
    <>
      <Outcome of={done.value} />
      <Ready of={loaded} what="The list of sessions">
        {({ sessions, next_cursor }) => (
          <>
            <Listed of={sessions} onEnd={mayEnd ? choose : undefined} />
            <Turning what="sessions" cursors={cursors} next={next_cursor} />
          </>
        )}
      </Ready>
      <EndSessionDialog
        of={ending.value}
        onClose={() => choose(undefined)}
        onDone={(words) => {
          done.value = { words };
          loaded.again();
        }}
      />
    </>
  );
}

function Listed({
  of,
  onEnd,
}: {
  readonly of: readonly Session[];
  readonly onEnd: ((session: Session) => void) | undefined;
}) {
  if (of.length === 0) return <Empty>No person is signed in.</Empty>;
  return (
    <ul>
      {of.map((session) => (
        <li key={session.session_id} class="node">
          <div>
            <h3>
              <Shown text={personOf(session.principal)} />{' '}
              {session.is_this ? <Pill state="act">This one</Pill> : null}
            </h3>
            <p class="small muted">
              {session.how === 'key' ? (
                'With a key'
              ) : (
                <>
                  By <Shown text={session.how} />
                </>
              )}
              , <Shown text={session.user_agent} />
            </p>
          </div>
          <dl class="facts small">
            <dt>Since</dt>
            <dd>
              <Ago at={session.created_at} />
            </dd>
            <dt>Ends</dt>
            <dd>
              <Left until={session.expires_at} />
            </dd>
          </dl>
          <dl class="facts small">
            <dt>Seen</dt>
            <dd>
              <Ago at={session.seen_at} />
            </dd>
          </dl>
          <div class="acts">
            {onEnd ? (
              <button type="button" class="danger" onClick={() => onEnd(session)}>
                End session…
              </button>
            ) : null}
          </div>
        </li>
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
      danger
      onConfirm={end}
    >
      <dl class="facts">
        <dt>Ends</dt>
        <dd>
          {of?.is_this
            ? 'Your own session in this browser: this page stops working at once.'
            : 'The session of this browser. Its pages stop working at once.'}
        </dd>
        <dt>Stays</dt>
        <dd>Agents, and other sessions of the same person. The person can sign in again.</dd>
      </dl>
    </Confirm>
  );
}
