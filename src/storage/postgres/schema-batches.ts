/**
 * Many admissions, or many settlements, as one function of the database: one trip and one commit.
 *
 * Each is the single step of `schema-functions.ts`, and means what it means alone. What is added is
 * the order of locks. A single step takes its own from root to leaf; many of them one after another
 * would take the budgets of the second after the leases of the first, and could wait in a circle
 * with somebody. So what a batch shares with others is held before the first step, kind by kind, in
 * the order of kinds that a single step has, and one kind in one order for all: gates by number,
 * intents by id, budgets and leases by lineage, in which an ancestor comes before what is below it.
 * The rows of tokens need no such care: whoever changes one has closed its gate before.
 *
 * @module
 */

import { GATE } from './schema-functions.ts';

/**
 * How long a batch waits for one lock. Others do not hold one for so long unless they are stuck; then
 * each of the batch goes on alone, and only those wait on whom the lock is really held.
 */
const PATIENCE_MS = 1_000;

export const BATCH_FUNCTIONS = `
CREATE FUNCTION writ_hold_budgets(p_tokens text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM budgets b JOIN tokens t ON t.token_id = b.token_id
  WHERE b.token_id = ANY (p_tokens) ORDER BY t.lineage FOR NO KEY UPDATE OF b;
END $$;

CREATE FUNCTION writ_hold_leases(p_tokens text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM leases l JOIN tokens t ON t.token_id = l.token_id
  WHERE l.token_id = ANY (p_tokens) ORDER BY t.lineage FOR NO KEY UPDATE OF l;
END $$;

-- Admissions that claim no key and use no grant: those are claimed before budgets, and taken after.
-- A refusal undoes its own admission and no other; whatever else is raised undoes all.
--
-- A lease that nobody had before has no row to hold. Admissions go by lineage, and one that is not
-- undone has taken every lease of its lineage, so that leases too are taken in their order.
CREATE FUNCTION writ_admit_all(p_items jsonb)
RETURNS TABLE (o_place bigint, o_budgets jsonb, o_refusal jsonb)
LANGUAGE plpgsql SET lock_timeout = ${PATIENCE_MS} AS $$
DECLARE
  v_tokens text[] := ARRAY(
    SELECT i #>> '{intent,token_id}' FROM jsonb_array_elements(p_items) i);
  v_item jsonb;
  v_detail text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(${GATE}, g.number) FROM (
    SELECT DISTINCT hashtext(t.lineage[1]) AS number FROM tokens t
    WHERE t.token_id = ANY (v_tokens) ORDER BY number
  ) g;
  PERFORM writ_hold_budgets(ARRAY(
    SELECT unnest(t.lineage) FROM tokens t WHERE t.token_id = ANY (v_tokens)));

  FOR v_item, o_place IN
    SELECT i.item, i.place FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (item, place)
    LEFT JOIN tokens t ON t.token_id = i.item #>> '{intent,token_id}'
    ORDER BY t.lineage, i.place
  LOOP
    o_budgets := NULL;
    o_refusal := NULL;
    BEGIN
      o_budgets := writ_admit(v_item -> 'intent', (v_item ->> 'now')::timestamptz,
        v_item ->> 'currency', (v_item ->> 'amount')::bigint, NULL, NULL,
        (v_item ->> 'lease_until')::timestamptz);
    EXCEPTION WHEN SQLSTATE 'WR001' THEN
      GET STACKED DIAGNOSTICS v_detail = PG_EXCEPTION_DETAIL;
      o_refusal := v_detail;
    END;
    RETURN NEXT;
  END LOOP;
END $$;

-- Hardly any settlement raises, so nothing is undone for one alone: what is raised undoes all. Answers
-- to keys wait for nobody, since the key of an open call is not given to another. Windows for undoing
-- are kept last and in order: settlements of different calls can share one.
CREATE FUNCTION writ_settle_all(p_items jsonb, p_answers bytea[])
RETURNS TABLE (o_place bigint, o_answer text)
LANGUAGE plpgsql SET lock_timeout = ${PATIENCE_MS} AS $$
DECLARE
  v_ids text[] := ARRAY(SELECT i ->> 'operation_id' FROM jsonb_array_elements(p_items) i);
  v_item jsonb;
  v_rollbacks jsonb := '[]';
BEGIN
  PERFORM FROM intents i WHERE i.operation_id = ANY (v_ids) ORDER BY i.operation_id FOR UPDATE;
  PERFORM writ_hold_budgets(ARRAY(
    SELECT unnest(i.charged) FROM intents i WHERE i.operation_id = ANY (v_ids)));
  PERFORM writ_hold_leases(ARRAY(
    SELECT unnest(i.leased) FROM intents i WHERE i.operation_id = ANY (v_ids)));

  FOR v_item, o_place IN
    SELECT i.item, i.place FROM jsonb_array_elements(p_items) WITH ORDINALITY AS i (item, place)
  LOOP
    o_answer := writ_settle(v_item ->> 'operation_id', v_item ->> 'outcome',
      (v_item ->> 'actual')::bigint, v_item -> 'bindings', p_answers[o_place],
      (v_item ->> 'now')::timestamptz, (v_item ->> 'still_runs')::boolean, NULL,
      v_item ->> 'entry_id');
    IF o_answer = 'settled' AND v_item ? 'rollback' THEN
      v_rollbacks := v_rollbacks || (v_item -> 'rollback');
    END IF;
    RETURN NEXT;
  END LOOP;

  INSERT INTO rollbacks AS r (capability, root_principal, digest, until)
  SELECT n.capability, n.root_principal, n.digest, max(n.until)
  FROM jsonb_populate_recordset(NULL::rollbacks, v_rollbacks) n
  GROUP BY n.capability, n.root_principal, n.digest
  ORDER BY n.capability, n.root_principal, n.digest
  ON CONFLICT (capability, root_principal, digest)
    DO UPDATE SET until = greatest(r.until, EXCLUDED.until);
END $$;
`;
