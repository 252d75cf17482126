/**
 * Admission and settlement as functions of the database, for one call or for many.
 *
 * First they lock all shared rows, in the order that `functions.ts` describes; then they decide each call;
 * then they write the results, in one statement for each table, because the number of statements determines
 * the cost. Later steps replace most of them: `batches.ts` has those of today.
 *
 * @module
 */

import { GATE } from './functions.ts';

const HOLD_FUNCTIONS = `
-- How long to wait for one lock, where that is less than usual.
CREATE FUNCTION writ_be_patient(p_ms integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_ms IS NOT NULL THEN PERFORM set_config('lock_timeout', p_ms::text, true); END IF;
END $$;

-- Holds all tokens of these lineages, each behind its gate, and answers them. A token that comes later
-- is not among them: nobody would keep its ancestors from being revoked.
CREATE FUNCTION writ_hold_lineages(p_tokens text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  v_held text[] := ARRAY(
    SELECT DISTINCT unnest(t.lineage) FROM tokens t WHERE t.token_id = ANY (p_tokens));
BEGIN
  PERFORM pg_advisory_xact_lock_shared(${GATE}, g.number) FROM (
    SELECT DISTINCT hashtext(t.lineage[1]) AS number FROM tokens t
    WHERE t.token_id = ANY (v_held) ORDER BY number
  ) g;
  PERFORM FROM tokens t WHERE t.token_id = ANY (v_held) ORDER BY t.lineage FOR SHARE;
  RETURN v_held;
END $$;

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
`;

const ADMIT_FUNCTIONS = `
CREATE TYPE admitting AS (
  place bigint, intent jsonb, now timestamptz, currency text, amount bigint, key jsonb, use jsonb,
  lease_until timestamptz, lineage text[], exclusive text[], charged text[], budgets jsonb,
  refusal jsonb
);

-- What the calls ask for, and what of them is dead or frozen.
--
-- For freezes a plain read is enough: this statement sees every freeze that was acknowledged before it
-- began, and so every one acknowledged before the admission was asked for. Nothing is promised about
-- a freeze that comes while the admission is under way. The widest is told: the names of the kinds
-- happen to be in that order.
CREATE FUNCTION writ_judge_calls(p_calls jsonb, p_held text[])
RETURNS admitting[] LANGUAGE sql STABLE AS $$
  SELECT array_agg(ROW(c.place, c.call -> 'intent', (c.call ->> 'now')::timestamptz,
    c.call ->> 'currency', (c.call ->> 'amount')::bigint, c.call -> 'key', c.call -> 'grant',
    (c.call ->> 'lease_until')::timestamptz, t.lineage, j.exclusive, '{}'::text[], '[]'::jsonb,
    CASE WHEN t.token_id IS NULL THEN jsonb_build_object('reason', 'unknown_token',
        'token_id', c.call #>> '{intent,token_id}')
      WHEN j.fault IS NOT NULL THEN jsonb_build_object('reason', j.fault, 'token_id', j.culprit)
      WHEN f.freeze IS NOT NULL THEN jsonb_build_object('reason', 'frozen', 'freeze', f.freeze)
    END)::admitting ORDER BY c.place)
  FROM jsonb_array_elements(p_calls) WITH ORDINALITY AS c (call, place)
  LEFT JOIN tokens t ON t.token_id = c.call #>> '{intent,token_id}' AND t.token_id = ANY (p_held)
  LEFT JOIN LATERAL writ_judge(t.lineage, (c.call ->> 'now')::timestamptz) j ON true
  LEFT JOIN LATERAL (
    SELECT to_jsonb(f) AS freeze FROM freezes f
    WHERE (f.what, f.target) IN (('service', ''), ('capability', c.call #>> '{intent,capability}'),
        ('root_principal', c.call #>> '{intent,root_principal}'))
      AND (f.until IS NULL OR f.until > (c.call ->> 'now')::timestamptz)
    ORDER BY f.what DESC LIMIT 1
  ) f ON true;
$$;

-- Reserves on every budget of the call's lineage, root first, or says why not and reserves nothing.
CREATE FUNCTION writ_reserve(INOUT p_call admitting, INOUT p_budgets budgets[])
LANGUAGE plpgsql AS $$
DECLARE
  v_budgets budgets[] := p_budgets;
BEGIN
  FOR k IN 1..cardinality(p_budgets) LOOP
    CONTINUE WHEN v_budgets[k].token_id <> ALL (p_call.lineage);
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
  p_budgets := v_budgets;
END $$;

-- Takes the lease of each of these tokens, or answers which has none to give, and takes none.
CREATE FUNCTION writ_take_leases(
  p_tokens text[], p_operation_id text, p_now timestamptz, p_until timestamptz
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_busy record;
BEGIN
  SELECT l.token_id, l.until INTO v_busy FROM leases l
  WHERE l.token_id = ANY (p_tokens) AND l.operation_id IS NOT NULL AND l.until > p_now
  ORDER BY array_position(p_tokens, l.token_id) LIMIT 1;
  IF FOUND THEN
    RETURN jsonb_build_object('reason', 'busy', 'token_id', v_busy.token_id, 'until', v_busy.until);
  END IF;
  UPDATE leases l SET operation_id = p_operation_id, fence = l.fence + 1, until = p_until
  WHERE l.token_id = ANY (p_tokens);
  RETURN NULL;
END $$;

-- A token that was never leased gets a free lease first, so that there is a row to hold.
CREATE FUNCTION writ_make_leases(p_tokens text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO leases (token_id, operation_id, fence, until)
  SELECT t.token_id, NULL, 0, '-infinity' FROM tokens t
  WHERE t.token_id = ANY (p_tokens)
    AND NOT EXISTS (SELECT FROM leases l WHERE l.token_id = t.token_id)
  ORDER BY t.lineage ON CONFLICT (token_id) DO NOTHING;
END $$;

-- One call after another, on what is held for all. The refusal of a call that comes with a key or a
-- grant raises, which gives back what it has claimed; it is the only one then.
CREATE FUNCTION writ_decide(INOUT p_calls admitting[], INOUT p_budgets budgets[])
LANGUAGE plpgsql AS $$
DECLARE
  v_call admitting;
  v_before budgets[];
  v_reserved record;
BEGIN
  FOR i IN 1..cardinality(p_calls) LOOP
    v_call := p_calls[i];
    CONTINUE WHEN v_call.refusal IS NOT NULL;
    v_before := p_budgets;
    v_reserved := writ_reserve(v_call, p_budgets);
    v_call := v_reserved.p_call;
    p_budgets := v_reserved.p_budgets;
    IF v_call.refusal IS NULL AND v_call.use IS NOT NULL THEN
      PERFORM writ_take_grant(v_call.use, v_call.now);
    END IF;
    IF v_call.refusal IS NULL AND v_call.exclusive IS NOT NULL THEN
      v_call.refusal := writ_take_leases(v_call.exclusive, v_call.intent ->> 'operation_id',
        v_call.now, v_call.lease_until);
      IF v_call.refusal IS NOT NULL THEN p_budgets := v_before; END IF;
    END IF;
    IF v_call.refusal IS NOT NULL AND (v_call.key IS NOT NULL OR v_call.use IS NOT NULL) THEN
      PERFORM writ_refuse(v_call.refusal);
    END IF;
    p_calls[i] := v_call;
  END LOOP;
END $$;

CREATE FUNCTION writ_admit(p_calls jsonb, p_patience_ms integer)
RETURNS TABLE (o_place bigint, o_budgets jsonb, o_refusal jsonb) LANGUAGE plpgsql AS $$
DECLARE
  v_held text[];
  v_calls admitting[];
  v_budgets budgets[];
  v_exclusive text[];
BEGIN
  PERFORM writ_be_patient(p_patience_ms);
  v_held := writ_hold_lineages(ARRAY(
    SELECT c #>> '{intent,token_id}' FROM jsonb_array_elements(p_calls) c));
  v_calls := writ_judge_calls(p_calls, v_held);
  PERFORM writ_claim_key(c.key, c.intent ->> 'operation_id', c.now)
  FROM unnest(v_calls) c WHERE c.refusal IS NULL AND c.key IS NOT NULL;

  PERFORM writ_hold_budgets(ARRAY(
    SELECT unnest(c.lineage) FROM unnest(v_calls) c
    WHERE c.refusal IS NULL AND c.amount IS NOT NULL));
  v_budgets := ARRAY(
    SELECT b FROM budgets b JOIN tokens t ON t.token_id = b.token_id
    WHERE b.token_id = ANY (ARRAY(
      SELECT unnest(c.lineage) FROM unnest(v_calls) c WHERE c.refusal IS NULL))
    ORDER BY t.lineage);
  v_exclusive := ARRAY(
    SELECT unnest(c.exclusive) FROM unnest(v_calls) c WHERE c.refusal IS NULL);
  IF v_exclusive <> '{}' THEN
    PERFORM writ_make_leases(v_exclusive);
    PERFORM writ_hold_leases(v_exclusive);
  END IF;

  SELECT d.p_calls, d.p_budgets INTO v_calls, v_budgets FROM writ_decide(v_calls, v_budgets) d;
  UPDATE budgets b SET reserved = n.reserved FROM unnest(v_budgets) n
  WHERE b.token_id = n.token_id AND n.token_id = ANY (ARRAY(
    SELECT unnest(c.charged) FROM unnest(v_calls) c WHERE c.refusal IS NULL));
  PERFORM writ_keep_intents(v_calls);
  RETURN QUERY SELECT c.place, c.budgets, c.refusal FROM unnest(v_calls) c ORDER BY c.place;
END $$;

CREATE FUNCTION writ_keep_intents(p_calls admitting[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO intents (operation_id, state, invocation_id, token_id, subject, root_principal,
    capability, currency, amount, reserved, charged, leased, is_keyed, facts, instance_id,
    admitted_at, result, composing)
  SELECT c.intent ->> 'operation_id', 'admitted', c.intent ->> 'invocation_id',
    c.intent ->> 'token_id', c.intent ->> 'subject', c.intent ->> 'root_principal',
    c.intent ->> 'capability', c.intent ->> 'currency', (c.intent ->> 'amount')::bigint,
    coalesce(c.amount, 0), c.charged, coalesce(c.exclusive, '{}'), c.key IS NOT NULL,
    c.intent -> 'facts', c.intent ->> 'instance_id', (c.intent ->> 'admitted_at')::timestamptz,
    c.budgets, (c.intent ->> 'composing')::json
  FROM unnest(p_calls) c WHERE c.refusal IS NULL;
END $$;
`;

const SETTLE_FUNCTIONS = `
CREATE TYPE settling AS (
  place bigint, operation_id text, outcome text, actual bigint, spent bigint, bindings jsonb,
  answer bytea, now timestamptz, still_runs boolean, rollback jsonb, entry_id text, intent intents, verdict text
);

-- 'settled': to be done now. 'repeated': done before, with this entry. 'superseded': done before,
-- otherwise, or a lease was lost.
CREATE FUNCTION writ_judge_settlements(p_settlements jsonb, p_answers bytea[])
RETURNS settling[] LANGUAGE sql STABLE AS $$
  SELECT array_agg(ROW(s.place, s.one ->> 'operation_id', s.one ->> 'outcome',
    (s.one ->> 'actual')::bigint, CASE s.one ->> 'outcome' WHEN 'no_effect' THEN 0 WHEN 'indeterminate' THEN i.reserved
      ELSE coalesce((s.one ->> 'actual')::bigint, i.reserved) END,
    s.one -> 'bindings', p_answers[s.place], (s.one ->> 'now')::timestamptz,
    (s.one ->> 'still_runs')::boolean, s.one -> 'rollback', s.one ->> 'entry_id', i,
    CASE WHEN i.state = 'settled' AND i.entry_id = s.one ->> 'entry_id' THEN 'repeated'
      WHEN i.state = 'settled' THEN 'superseded'
      WHEN s.one ->> 'outcome' <> 'indeterminate' AND cardinality(i.leased) <> (
        SELECT count(*) FROM leases l
        WHERE l.token_id = ANY (i.leased) AND l.operation_id = i.operation_id) THEN 'superseded'
      ELSE 'settled' END)::settling ORDER BY s.place)
  FROM jsonb_array_elements(p_settlements) WITH ORDINALITY AS s (one, place)
  LEFT JOIN intents i ON i.operation_id = s.one ->> 'operation_id';
$$;

CREATE FUNCTION writ_refuse_defects(p_settlements settling[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  s settling;
BEGIN
  FOREACH s IN ARRAY p_settlements LOOP
    CONTINUE WHEN (s.intent).state = 'settled';
    IF (s.intent).state IS DISTINCT FROM 'admitted' THEN
      RAISE EXCEPTION 'Cannot settle "%": it was not admitted', s.operation_id;
    END IF;
    IF s.actual < 0 OR s.actual > (s.intent).reserved THEN
      RAISE EXCEPTION 'Cannot settle "%": % was spent, % reserved', s.operation_id, s.actual,
        (s.intent).reserved;
    END IF;
  END LOOP;
  IF (SELECT count(DISTINCT d.operation_id) FROM unnest(p_settlements) d)
    <> cardinality(p_settlements) THEN
    RAISE EXCEPTION 'Cannot settle a call twice in one step';
  END IF;
END $$;

-- Turns reservations into what was spent, and lets leases go.
CREATE FUNCTION writ_give_back(p_settled settling[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE budgets b SET reserved = b.reserved - c.reserved, consumed = b.consumed + c.spent
  FROM (
    SELECT t.token_id, sum((s.intent).reserved)::bigint AS reserved, sum(s.spent)::bigint AS spent
    FROM unnest(p_settled) s, unnest((s.intent).charged) AS t (token_id) GROUP BY t.token_id
  ) c WHERE b.token_id = c.token_id;
  UPDATE leases l SET operation_id = NULL FROM unnest(p_settled) s
  WHERE l.token_id = ANY ((s.intent).leased) AND l.operation_id = s.operation_id
    AND NOT s.still_runs;
END $$;

-- The answer to a key waits for nobody: the key of an open call is given to no other. Settlements of
-- different calls can share a window for undoing.
CREATE FUNCTION writ_keep_results(p_settled settling[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE idempotency k SET answer = s.answer FROM unnest(p_settled) s
  WHERE (s.intent).is_keyed AND k.operation_id = s.operation_id;
  INSERT INTO bindings
    (binding_id, type, capability, root_principal, currency, amount, data, issued_at)
  SELECT b.binding_id, b.type, b.capability, b.root_principal, b.currency, b.amount, b.data,
    b.issued_at FROM unnest(p_settled) s, jsonb_populate_recordset(NULL::bindings, s.bindings) b
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

CREATE FUNCTION writ_settle(p_settlements jsonb, p_answers bytea[], p_patience_ms integer)
RETURNS TABLE (o_place bigint, o_verdict text) LANGUAGE plpgsql AS $$
DECLARE
  v_ids text[] := ARRAY(SELECT s ->> 'operation_id' FROM jsonb_array_elements(p_settlements) s);
  v_all settling[];
  v_settled settling[];
BEGIN
  PERFORM writ_be_patient(p_patience_ms);
  PERFORM FROM intents i WHERE i.operation_id = ANY (v_ids) ORDER BY i.operation_id FOR UPDATE;
  PERFORM writ_hold_budgets(ARRAY(
    SELECT unnest(i.charged) FROM intents i WHERE i.operation_id = ANY (v_ids)));
  PERFORM writ_hold_leases(ARRAY(
    SELECT unnest(i.leased) FROM intents i WHERE i.operation_id = ANY (v_ids)));

  v_all := writ_judge_settlements(p_settlements, p_answers);
  PERFORM writ_refuse_defects(v_all);
  v_settled := ARRAY(SELECT s FROM unnest(v_all) s WHERE s.verdict = 'settled');
  PERFORM writ_give_back(v_settled);
  PERFORM writ_keep_results(v_settled);
  RETURN QUERY SELECT s.place, s.verdict FROM unnest(v_all) s ORDER BY s.place;
END $$;
`;

export const CALL_FUNCTIONS = [HOLD_FUNCTIONS, ADMIT_FUNCTIONS, SETTLE_FUNCTIONS].join('\n');
