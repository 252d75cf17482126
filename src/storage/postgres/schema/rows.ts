/**
 * The MACs of rows that carry authority (`storage/port/row-forms.ts`), and how the contested steps compare
 * the locked rows with those on which a call was judged.
 *
 * The database has no key. Node verifies rows when it loads them and passes what it saw to the step: the
 * MACs, times and kinds of the tokens of a lineage as one text, the ceilings of its budgets by token. A
 * locked row that differs ends the step as `altered`. The next step (`debts.ts`) replaces `writ_judge_calls`,
 * which passes these texts on.
 *
 * @module
 */

import { GATE } from './functions.ts';

const COLUMNS = `
ALTER TABLE tokens ADD COLUMN mac text, ADD COLUMN revoked_mac text;
ALTER TABLE freezes ADD COLUMN mac text;
ALTER TABLE bindings ADD COLUMN mac text;
ALTER TABLE approval_requests ADD COLUMN mac text;
ALTER TABLE approvals ADD COLUMN mac text;
ALTER TABLE grants ADD COLUMN mac text;
ALTER TABLE meta ADD COLUMN row_seal text;
ALTER TYPE admitting ADD ATTRIBUTE ceilings jsonb;
`;

const LINEAGE_STEPS = `
DROP FUNCTION writ_judge(text[], timestamptz);
DROP FUNCTION writ_hold_lineage(text, timestamptz);
DROP FUNCTION writ_claim_child(text, text[], text, timestamptz, integer);

-- Which token of a lineage is the first from the root that is dead, and why. A revocation anywhere
-- comes before any expiry. The MAC of a revocation is one, whatever became of its time.
CREATE FUNCTION writ_judge(p_lineage text[], p_now timestamptz, p_sealed text DEFAULT NULL)
RETURNS TABLE (exclusive text[], fault text, culprit text) LANGUAGE sql STABLE AS $$
  SELECT l.exclusive, CASE WHEN l.sealed <> p_sealed THEN 'altered'
    WHEN l.revoked IS NOT NULL THEN 'revoked' WHEN l.expired IS NOT NULL THEN 'expired' END,
    coalesce(l.revoked, l.expired, p_lineage[cardinality(p_lineage)])
  FROM (
    SELECT (array_agg(t.token_id ORDER BY cardinality(t.lineage))
        FILTER (WHERE t.revoked_at IS NOT NULL OR t.revoked_mac IS NOT NULL))[1] AS revoked,
      (array_agg(t.token_id ORDER BY cardinality(t.lineage)) FILTER (WHERE t.expires_at <= p_now))[1] AS expired,
      array_agg(t.token_id ORDER BY cardinality(t.lineage)) FILTER (WHERE t.concurrent_branches = 'exclusive')
        AS exclusive,
      string_agg(t.token_id || ' ' || coalesce(t.mac, '') || ' '
          || (extract(epoch FROM t.expires_at) * 1000)::bigint || ' ' || t.concurrent_branches,
        ',' ORDER BY cardinality(t.lineage)) AS sealed
    FROM tokens t WHERE t.token_id = ANY (p_lineage)
  ) l;
$$;

-- Holds every token of a lineage until the end of the transaction, and judges it.
CREATE FUNCTION writ_hold_lineage(
  p_token_id text, p_now timestamptz, p_sealed text DEFAULT NULL,
  OUT o_lineage text[], OUT o_exclusive text[], OUT o_fault text, OUT o_culprit text
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT t.lineage INTO o_lineage FROM tokens t WHERE t.token_id = p_token_id;
  IF NOT FOUND THEN
    o_fault := 'unknown_token';
    o_culprit := p_token_id;
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock_shared(${GATE}, hashtext(o_lineage[1]));

  PERFORM FROM tokens t WHERE t.token_id = ANY (o_lineage) ORDER BY t.lineage FOR SHARE;
  SELECT j.exclusive, j.fault, j.culprit INTO o_exclusive, o_fault, o_culprit
  FROM writ_judge(o_lineage, p_now, p_sealed) j;
END $$;

-- Makes room for one child under a living parent, or says why not and changes nothing.
CREATE FUNCTION writ_claim_child(
  p_token_id text, p_lineage text[], p_parent_id text, p_now timestamptz, p_max integer,
  p_sealed text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_lineage text[];
  v_fault text;
BEGIN
  SELECT o_lineage, o_fault INTO v_lineage, v_fault
  FROM writ_hold_lineage(p_parent_id, p_now, p_sealed);
  IF v_fault IS NOT NULL THEN
    RETURN CASE v_fault WHEN 'unknown_token' THEN 'parent_unknown' ELSE 'parent_' || v_fault END;
  END IF;
  IF p_lineage IS DISTINCT FROM v_lineage || p_token_id THEN
    RAISE EXCEPTION 'Cannot keep token "%": its lineage is not its parent''s', p_token_id;
  END IF;

  INSERT INTO families AS f (token_id, children) SELECT p_parent_id, 1 WHERE p_max >= 1
  ON CONFLICT (token_id) DO UPDATE SET children = f.children + 1 WHERE f.children < p_max;
  RETURN CASE WHEN FOUND THEN 'inserted' ELSE 'too_many' END;
END $$;
`;

const CALL_STEPS = `
-- Reserves on every budget of the call's lineage, root first, or says why not and reserves nothing.
-- Each must have the ceiling on which the call was judged, and none of those may be gone.
CREATE OR REPLACE FUNCTION writ_reserve(INOUT p_call admitting, INOUT p_budgets budgets[])
LANGUAGE plpgsql AS $$
DECLARE
  v_budgets budgets[] := p_budgets;
  v_missing jsonb := p_call.ceilings;
BEGIN
  FOR k IN 1..cardinality(p_budgets) LOOP
    CONTINUE WHEN v_budgets[k].token_id <> ALL (p_call.lineage);
    IF p_call.ceilings IS NOT NULL THEN
      IF v_budgets[k].currency || ' ' || v_budgets[k].max
        IS DISTINCT FROM p_call.ceilings ->> v_budgets[k].token_id THEN EXIT; END IF;
      v_missing := v_missing - v_budgets[k].token_id;
    END IF;
    IF p_call.amount IS NOT NULL THEN
      IF v_budgets[k].currency <> p_call.currency THEN
        p_call.refusal := jsonb_build_object('reason', 'currency',
          'budget', writ_budget(v_budgets[k]));
        RETURN;
      END IF;
      IF p_call.amount > v_budgets[k].max - v_budgets[k].reserved - v_budgets[k].consumed THEN
        p_call.refusal := jsonb_build_object('reason', 'budget',
          'budget', writ_budget(v_budgets[k]));
        RETURN;
      END IF;
      v_budgets[k].reserved := v_budgets[k].reserved + p_call.amount;
      p_call.charged := p_call.charged || v_budgets[k].token_id;
    END IF;
    p_call.budgets := p_call.budgets || writ_budget(v_budgets[k]);
  END LOOP;
  IF v_missing <> '{}' THEN
    p_call.refusal := jsonb_build_object('reason', 'altered',
      'token_id', p_call.intent ->> 'token_id');
    RETURN;
  END IF;
  p_budgets := v_budgets;
END $$;

CREATE OR REPLACE FUNCTION writ_take_grant(p_use jsonb, p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE grants g SET uses = g.uses + 1
  WHERE g.grant_id = p_use ->> 'grant_id' AND g.uses < g.max_uses AND g.expires_at > p_now
    AND g.expires_at = (p_use ->> 'expires_at')::timestamptz
    AND g.max_uses = (p_use ->> 'max_uses')::integer
    AND g.capability = p_use ->> 'capability'
    AND g.contract_version = p_use ->> 'contract_version'
    AND g.parameters_digest = p_use ->> 'parameters_digest'
    AND g.chain = p_use ->> 'chain'
    AND (g.grant_type <> 'session_bound' OR g.session_id = p_use ->> 'session_id');
  IF NOT FOUND THEN PERFORM writ_refuse('{"reason": "grant"}'); END IF;
END $$;

CREATE OR REPLACE FUNCTION writ_keep_results(p_settled settling[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE idempotency k SET answer = s.answer FROM unnest(p_settled) s
  WHERE (s.intent).is_keyed AND k.operation_id = s.operation_id;
  INSERT INTO bindings
    (binding_id, type, capability, root_principal, currency, amount, data, issued_at, mac)
  SELECT b.binding_id, b.type, b.capability, b.root_principal, b.currency, b.amount, b.data,
    b.issued_at, b.mac
  FROM unnest(p_settled) s, jsonb_populate_recordset(NULL::bindings, s.bindings) b
  WHERE s.bindings IS NOT NULL;
  INSERT INTO rollbacks AS r (capability, root_principal, digest, until)
  SELECT n.capability, n.root_principal, n.digest, max(n.until)
  FROM unnest(p_settled) s, jsonb_populate_record(NULL::rollbacks, s.rollback) n
  WHERE s.rollback IS NOT NULL GROUP BY n.capability, n.root_principal, n.digest
  ORDER BY n.capability, n.root_principal, n.digest
  ON CONFLICT (capability, root_principal, digest)
    DO UPDATE SET until = greatest(r.until, EXCLUDED.until);
  DELETE FROM steps t USING unnest(p_settled) s
  WHERE t.operation_id = s.operation_id AND (s.intent).composing IS NOT NULL AND NOT s.still_runs;
  UPDATE intents i SET state = 'settled', outcome = s.outcome, consumed = s.spent,
    entry_id = s.entry_id, settled_at = s.now, composing = CASE WHEN s.still_runs THEN i.composing END
  FROM unnest(p_settled) s WHERE i.operation_id = s.operation_id;
END $$;
`;

export const ROW_MACS = [COLUMNS, LINEAGE_STEPS, CALL_STEPS].join('\n');
