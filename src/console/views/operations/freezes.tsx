/**
 * Freezes: what is frozen, by whom and why, page by page.
 *
 * @module
 */

import type { Freeze } from '../../../protocol/operator.ts';
import { Ago, Left, Person, Shown } from '../../parts/elements.tsx';
import { Ready } from '../../parts/loaded.tsx';
import { Fold, Row } from '../../parts/panels.tsx';
import { type Answers, FREEZES_PAGE, lastOf, type Part } from './answers.ts';
import { FrozenTarget } from './freezing.tsx';
import { Turning } from './turning.tsx';

/** "3", or "20+" where more are on other pages. */
export function frozenCount(answers: Answers): string | undefined {
  const page = lastOf(answers.frozen);
  const isPart = answers.cursors.value.length > 0 || (page?.next_cursor ?? null) !== null;
  if (!page) return undefined;
  return isPart ? `${FREEZES_PAGE}+` : String(page.frozen.length);
}

export function Freezes({ answers, may, lift }: Part) {
  const count = frozenCount(answers);
  return (
    <Fold title="Freezes" icon="stop" state={count === '0' ? 'none' : count}>
      <Ready of={answers.frozen} what="The list of freezes">
        {(page) => (
          <>
            {page?.frozen.length === 0 ? (
              <p>
                Nothing is frozen. A freeze refuses every call of a person, of a capability or of
                everybody at once.
              </p>
            ) : (
              <ul class="list">
                {page?.frozen.map((freeze) => (
                  <FreezeRow
                    key={`${freeze.what} ${freeze.target} ${freeze.root_principal}`}
                    of={freeze}
                    onLift={may('unfreeze') ? lift : undefined}
                  />
                ))}
              </ul>
            )}
            <Turning what="freezes" cursors={answers.cursors} next={page?.next_cursor ?? null} />
          </>
        )}
      </Ready>
    </Fold>
  );
}

interface FreezeRowProps {
  readonly of: Freeze;
  readonly onLift: ((freeze: Freeze) => void) | undefined;
  readonly isFinal?: boolean;
}

export function FreezeRow({ of: freeze, onLift, isFinal = false }: FreezeRowProps) {
  return (
    <Row
      icon="stop"
      isFinal={isFinal}
      title={
        <>
          Frozen: <FrozenTarget of={freeze} />
        </>
      }
      side={
        <>
          {freeze.until === null ? 'Until it is lifted' : <Left until={freeze.until} />}{' '}
          {onLift ? (
            <button type="button" class="little" onClick={() => onLift(freeze)}>
              Lift…
            </button>
          ) : null}
        </>
      }
    >
      <p>
        <Shown text={freeze.reason} />
      </p>
      <p>
        By <Person of={freeze.frozen_by} /> <Ago at={freeze.frozen_at} />
      </p>
    </Row>
  );
}
