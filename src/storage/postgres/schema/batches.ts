/**
 * Admission and settlement of a batch as functions of the database.
 *
 * A lineage that several calls of a batch share is held and judged once. Each call is decided in a loop over plain
 * numbers, and nothing is asked of a table that no call of the batch needs. `functions.ts` has the order of locks.
 *
 * @module
 */

const ADMIT = `
-- The columns of a call in the JSON of a batch, in this order, then what is found out about it.
CREATE TYPE admitting AS (
  lineage integer, operation_id text, invocation_id text, subject text, root_principal text,
  capability text, facts jsonb, instance_id text, admitted_at timestamptz, composing json,
  now timestamptz, currency text, amount bigint, is_charged boolean, key jsonb, use jsonb,
  lease_until timestamptz, leased_by text, refusal jsonb
);

-- A lineage on which calls of the batch were judged, and whether one is charged; 'budgeted' are its tokens with a budget, and
-- 'places' are the places of these budgets in the batch, both root first.
CREATE TYPE held_lineage AS (
  token_id text, sealed text, ceilings jsonb, is_charged boolean, lineage text[], exclusive text[],
  expires_at timestamptz, refusal jsonb, budgeted text[], places integer[]
);

-- The lineages with what is dead of them, whatever the time. Their tokens are held.
CREATE FUNCTION writ_judge_lineages(p_lineages jsonb, p_held text[])
RETURNS held_lineage[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT ROW(p.token_id, p.sealed, p.ceilings, p.is_charged, t.lineage, j.exclusive, e.expires_at,
      CASE WHEN t.token_id IS NULL THEN jsonb_build_object('reason', 'unknown_token',
          'token_id', p.token_id)
        WHEN j.fault IS NOT NULL THEN jsonb_build_object('reason', j.fault,
          'token_id', j.culprit) END, NULL, NULL)::held_lineage
    FROM ROWS FROM (jsonb_to_recordset(p_lineages)
        AS (token_id text, sealed text, ceilings jsonb, is_charged boolean))
      WITH ORDINALITY AS p (token_id, sealed, ceilings, is_charged, place)
    LEFT JOIN tokens t ON t.token_id = p.token_id AND t.token_id = ANY (p_held)
    LEFT JOIN LATERAL writ_judge(t.lineage, '-infinity', p.sealed) j ON true
    LEFT JOIN LATERAL (
      SELECT min(a.expires_at) AS expires_at FROM tokens a WHERE a.token_id = ANY (t.lineage)
    ) e ON true
    ORDER BY p.place);
END $$;

-- What the calls ask for, and what of them is dead or frozen.
--
-- For freezes a plain read is enough: this statement sees every freeze that was acknowledged before it
-- began, and so every one acknowledged before the admission was asked for. Nothing is promised about
-- a freeze that comes while the admission is under way. The widest is named: the names of the kinds
-- happen to be in that order.
CREATE FUNCTION writ_judge_calls(p_calls jsonb, p_lineages held_lineage[])
RETURNS admitting[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT ROW(c.lineage, c.operation_id, c.invocation_id, c.subject, c.root_principal,
      c.capability, c.facts, c.instance_id, c.admitted_at, c.composing::json, c.now, c.currency,
      c.amount, c.is_charged, c.key, c.use, c.lease_until, c.leased_by,
      coalesce(h.refusal,
        CASE WHEN c.now >= h.expires_at THEN (
          SELECT jsonb_build_object('reason', j.fault, 'token_id', j.culprit)
          FROM writ_judge(h.lineage, c.now, h.sealed) j) END,
        CASE WHEN EXISTS (SELECT FROM freezes) THEN (
          SELECT jsonb_build_object('reason', 'frozen', 'freeze', to_jsonb(f)) FROM freezes f
          WHERE (f.what, f.target) IN (('service', ''), ('capability', c.capability),
              ('capability', c.capability || ' ' || c.root_principal),
              ('root_principal', c.root_principal))
            AND (f.until IS NULL OR f.until > c.now)
          ORDER BY f.what DESC, f.target LIMIT 1) END))::admitting
    FROM ROWS FROM (jsonb_to_recordset(p_calls) AS (lineage integer, operation_id text,
        invocation_id text, subject text, root_principal text, capability text, facts jsonb,
        instance_id text, admitted_at timestamptz, composing text, now timestamptz, currency text,
        amount bigint, is_charged boolean, key jsonb, use jsonb, lease_until timestamptz,
        leased_by text))
      WITH ORDINALITY AS c (lineage, operation_id, invocation_id, subject, root_principal,
        capability, facts, instance_id, admitted_at, composing, now, currency, amount, is_charged,
        key, use, lease_until, leased_by, place)
    JOIN unnest(p_lineages) WITH ORDINALITY AS h ON h.ordinality = c.lineage
    ORDER BY c.place);
END $$;

-- One call after another, on what is held for all: reserves on every budget of its lineage, root
-- first, or says why not and takes nothing. The refusal of a call that comes with a key or a grant
-- raises, which gives back what it has claimed; it is the only one then. A call that was refused before
-- has claimed nothing, and does not raise: the server would write its freeze into its own log.
CREATE FUNCTION writ_decide(
  p_calls admitting[], p_lineages held_lineage[], p_budgets budgets[],
  OUT o_reserved bigint[], OUT o_budgets jsonb[], OUT o_refusals jsonb[]
) LANGUAGE plpgsql AS $$
DECLARE
  c record;
  b budgets;
  k integer;
  v_place integer := 0;
  v_taken integer[];
  v_after jsonb;
  v_refusal jsonb;
BEGIN
  o_reserved := ARRAY(SELECT n.reserved::bigint FROM unnest(p_budgets) n);
  o_budgets := array_fill(NULL::jsonb, ARRAY[cardinality(p_calls)]);
  o_refusals := o_budgets;
  FOR c IN
    SELECT a.lineage, a.operation_id, a.now, a.currency, a.amount, a.is_charged, a.key, a.use,
      a.lease_until, a.leased_by, coalesce(a.refusal, h.refusal) AS refusal, a.refusal IS NULL AS has_claimed,
      h.exclusive, h.places, h.is_charged AS is_held
    FROM unnest(p_calls) WITH ORDINALITY AS a
    JOIN unnest(p_lineages) WITH ORDINALITY AS h ON h.ordinality = a.lineage
    ORDER BY a.ordinality
  LOOP
    v_place := v_place + 1;
    IF cardinality(p_calls) > 1 AND (c.key IS NOT NULL OR c.use IS NOT NULL) THEN
      RAISE EXCEPTION 'Cannot admit "%" with others: it has a key or a grant', c.operation_id;
    ELSIF c.is_charged AND NOT c.is_held THEN
      RAISE EXCEPTION 'Cannot admit "%": its budgets are not held', c.operation_id;
    END IF;
    v_refusal := c.refusal;
    v_after := '[]';
    v_taken := '{}';
    IF v_refusal IS NULL THEN
      FOREACH k IN ARRAY c.places LOOP
        b := p_budgets[k];
        b.reserved := o_reserved[k];
        IF c.is_charged THEN
          IF b.currency <> c.currency THEN
            v_refusal := jsonb_build_object('reason', 'currency', 'budget', writ_budget(b));
            EXIT;
          END IF;
          IF c.amount > b.max - b.reserved - b.consumed THEN
            v_refusal := jsonb_build_object('reason', 'budget', 'budget', writ_budget(b));
            EXIT;
          END IF;
          b.reserved := b.reserved + c.amount;
          o_reserved[k] := b.reserved;
          v_taken := v_taken || k;
        END IF;
        v_after := v_after || writ_budget(b);
      END LOOP;
    END IF;
    IF v_refusal IS NULL AND c.use IS NOT NULL THEN
      PERFORM writ_take_grant(c.use, c.now);
    END IF;
    IF v_refusal IS NULL AND c.exclusive IS NOT NULL THEN
      v_refusal := CASE WHEN c.leased_by IS NULL
        THEN writ_take_leases(c.exclusive, c.operation_id, c.now, c.lease_until)
        ELSE writ_find_leases(c.exclusive, c.leased_by, c.now) END;
    END IF;
    IF v_refusal IS NOT NULL THEN
      IF c.has_claimed AND (c.key IS NOT NULL OR c.use IS NOT NULL) THEN
        PERFORM writ_refuse(v_refusal);
      END IF;
      FOREACH k IN ARRAY v_taken LOOP o_reserved[k] := o_reserved[k] - c.amount; END LOOP;
    END IF;
    o_budgets[v_place] := v_after;
    o_refusals[v_place] := v_refusal;
  END LOOP;
END $$;

-- 'p_calls' name by their number the lineages on which they were judged. The answers are in their order.
CREATE FUNCTION writ_admit(p_calls jsonb, p_lineages jsonb, p_patience_ms integer)
RETURNS TABLE (o_budgets jsonb, o_refusal jsonb) LANGUAGE plpgsql AS $$
DECLARE
  -- How long to wait for one lock, where that is less than usual.
  v_patience text := CASE WHEN p_patience_ms IS NOT NULL
    THEN set_config('lock_timeout', p_patience_ms::text, true) END;
  v_held text[];
  v_lineages held_lineage[];
  v_calls admitting[];
  v_budgets budgets[];
  v_exclusive text[];
  d record;
BEGIN
  v_held := writ_hold_lineages(ARRAY(SELECT l ->> 'token_id' FROM jsonb_array_elements(p_lineages) l));
  v_lineages := writ_judge_lineages(p_lineages, v_held);
  v_calls := writ_judge_calls(p_calls, v_lineages);
  IF v_calls[1].refusal IS NULL AND v_calls[1].key IS NOT NULL THEN
    PERFORM writ_claim_key(v_calls[1].key, v_calls[1].operation_id, v_calls[1].now);
  END IF;

  PERFORM FROM budgets b JOIN tokens t ON t.token_id = b.token_id
  WHERE b.token_id = ANY (ARRAY(
    SELECT unnest(h.lineage) FROM unnest(v_lineages) h WHERE h.is_charged AND h.refusal IS NULL))
  ORDER BY t.lineage FOR NO KEY UPDATE OF b;
  v_budgets := ARRAY(
    SELECT b FROM budgets b JOIN tokens t ON t.token_id = b.token_id
    WHERE b.token_id = ANY (v_held) ORDER BY t.lineage);
  -- Each must have the ceiling on which the calls were judged, and none of those may be gone.
  v_lineages := ARRAY(
    SELECT ROW(h.token_id, h.sealed, h.ceilings, h.is_charged, h.lineage, h.exclusive, h.expires_at,
      CASE WHEN h.refusal IS NULL AND h.ceilings <> f.ceilings THEN
        jsonb_build_object('reason', 'altered', 'token_id', h.token_id) ELSE h.refusal END,
      f.budgeted, f.places)::held_lineage
    FROM unnest(v_lineages) WITH ORDINALITY AS h
    CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(b.token_id ORDER BY b.place), '{}') AS budgeted,
        coalesce(array_agg(b.place::integer ORDER BY b.place), '{}') AS places,
        coalesce(jsonb_object_agg(b.token_id, b.currency || ' ' || b.max), '{}') AS ceilings
      FROM unnest(v_budgets) WITH ORDINALITY AS b (token_id, currency, max, reserved, consumed, place)
      WHERE b.token_id = ANY (h.lineage)
    ) f ORDER BY h.ordinality);
  v_exclusive := ARRAY(SELECT unnest(h.exclusive) FROM unnest(v_lineages) h
    WHERE h.exclusive IS NOT NULL AND h.refusal IS NULL);
  IF v_exclusive <> '{}' THEN
    PERFORM writ_make_leases(v_exclusive);
    PERFORM writ_hold_leases(v_exclusive);
  END IF;

  SELECT * INTO d FROM writ_decide(v_calls, v_lineages, v_budgets);
  UPDATE budgets b SET reserved = n.after
  FROM unnest(v_budgets, d.o_reserved) AS n (token_id, currency, max, reserved, consumed, after)
  WHERE b.token_id = n.token_id AND n.after <> n.reserved;
  INSERT INTO intents (operation_id, state, invocation_id, token_id, subject, root_principal,
    capability, currency, amount, reserved, charged, leased, is_keyed, facts, instance_id,
    admitted_at, result, composing)
  SELECT c.operation_id, 'admitted', c.invocation_id, h.token_id, c.subject, c.root_principal,
    c.capability, c.currency, c.amount, CASE WHEN c.is_charged THEN c.amount ELSE 0 END,
    CASE WHEN c.is_charged THEN h.budgeted ELSE '{}' END,
    CASE WHEN c.leased_by IS NULL THEN coalesce(h.exclusive, '{}') ELSE '{}' END,
    c.key IS NOT NULL, c.facts, c.instance_id, c.admitted_at, d.o_budgets[c.ordinality], c.composing
  FROM unnest(v_calls) WITH ORDINALITY AS c
  JOIN unnest(v_lineages) WITH ORDINALITY AS h ON h.ordinality = c.lineage
  WHERE d.o_refusals[c.ordinality] IS NULL;
  RETURN QUERY SELECT a.budgets, a.refusal
    FROM unnest(d.o_budgets, d.o_refusals) WITH ORDINALITY AS a (budgets, refusal, place)
    ORDER BY a.place;
END $$;
`;

const SETTLE = `
CREATE TYPE settling AS (
  operation_id text, outcome text, actual bigint, now timestamptz, still_runs boolean, entry_id text,
  state intent_state, reserved bigint, spent bigint, charged text[], leased text[], is_keyed boolean,
  is_composed boolean, verdict text
);

-- Holds the intents and judges their settlements, without their leases. 'settled': to be done now.
-- 'repeated': done before, with this entry. 'superseded': done before, otherwise.
CREATE FUNCTION writ_judge_settlements(
  p_ids text[], p_outcomes text[], p_actual bigint[], p_times timestamptz[], p_running boolean[],
  p_entries text[]
) RETURNS settling[] LANGUAGE plpgsql AS $$
DECLARE
  v_all settling[];
  v_defect settling;
BEGIN
  PERFORM FROM intents n WHERE n.operation_id = ANY (p_ids) ORDER BY n.operation_id FOR UPDATE;
  v_all := ARRAY(
    SELECT ROW(s.operation_id, s.outcome, s.actual, s.now, s.still_runs, s.entry_id, i.state,
      i.reserved, CASE s.outcome WHEN 'no_effect' THEN 0 WHEN 'indeterminate' THEN i.reserved
        ELSE coalesce(s.actual, i.reserved) END, i.charged, i.leased, i.is_keyed,
      i.composing IS NOT NULL, CASE WHEN i.state <> 'settled' THEN 'settled'
        WHEN i.entry_id = s.entry_id THEN 'repeated' ELSE 'superseded' END)::settling
    FROM unnest(p_ids, p_outcomes, p_actual, p_times, p_running, p_entries)
      WITH ORDINALITY AS s (operation_id, outcome, actual, now, still_runs, entry_id, place)
    LEFT JOIN intents i ON i.operation_id = s.operation_id ORDER BY s.place);

  SELECT * INTO v_defect FROM unnest(v_all) s
  WHERE s.state IS DISTINCT FROM 'settled' AND (s.state IS DISTINCT FROM 'admitted'
    OR s.actual < 0 OR s.actual > s.reserved) LIMIT 1;
  IF FOUND AND v_defect.state IS DISTINCT FROM 'admitted' THEN
    RAISE EXCEPTION 'Cannot settle "%": it was not admitted', v_defect.operation_id;
  ELSIF FOUND THEN
    RAISE EXCEPTION 'Cannot settle "%": % was spent, % reserved', v_defect.operation_id,
      v_defect.actual, v_defect.reserved;
  END IF;
  IF (SELECT count(DISTINCT d) FROM unnest(p_ids) d) <> cardinality(p_ids) THEN
    RAISE EXCEPTION 'Cannot settle a call twice in one step';
  END IF;
  RETURN v_all;
END $$;

-- Lets go of the leases of what is settled, or says which settlements come too late: another call has
-- one of their leases. The budgets are held.
CREATE FUNCTION writ_settle_leases(p_all settling[]) RETURNS settling[] LANGUAGE plpgsql AS $$
BEGIN
  PERFORM writ_hold_leases(ARRAY(SELECT unnest(s.leased) FROM unnest(p_all) s));
  p_all := ARRAY(
    SELECT ROW(s.operation_id, s.outcome, s.actual, s.now, s.still_runs, s.entry_id, s.state,
      s.reserved, s.spent, s.charged, s.leased, s.is_keyed, s.is_composed,
      CASE WHEN s.verdict = 'settled' AND s.outcome <> 'indeterminate'
        AND cardinality(s.leased) <> (SELECT count(*) FROM leases l
          WHERE l.token_id = ANY (s.leased) AND l.operation_id = s.operation_id)
        THEN 'superseded' ELSE s.verdict END)::settling
    FROM unnest(p_all) WITH ORDINALITY AS s ORDER BY s.ordinality);
  UPDATE leases l SET operation_id = NULL FROM unnest(p_all) s
  WHERE s.verdict = 'settled' AND NOT s.still_runs
    AND l.token_id = ANY (s.leased) AND l.operation_id = s.operation_id;
  RETURN p_all;
END $$;

-- What hardly any call leaves behind. 'p_more' has by the operation id the bindings and the window for
-- undoing. Storing the answer under a key takes no lock that another call holds: admission gives the key of an
-- open call to no other call.
-- Settlements of different calls can share a window.
CREATE FUNCTION writ_keep_more(p_all settling[], p_answers bytea[], p_more jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE idempotency k SET answer = p_answers[s.ordinality]
  FROM unnest(p_all) WITH ORDINALITY AS s
  WHERE s.verdict = 'settled' AND s.is_keyed AND k.operation_id = s.operation_id;
  DELETE FROM steps t USING unnest(p_all) s
  WHERE t.operation_id = s.operation_id AND s.verdict = 'settled' AND s.is_composed
    AND NOT s.still_runs;
  IF p_more IS NULL THEN RETURN; END IF;
  INSERT INTO bindings
    (binding_id, type, capability, root_principal, currency, amount, data, issued_at, mac)
  SELECT b.binding_id, b.type, b.capability, b.root_principal, b.currency, b.amount, b.data,
    b.issued_at, b.mac
  FROM unnest(p_all) s,
    jsonb_populate_recordset(NULL::bindings, p_more -> s.operation_id -> 'bindings') b
  WHERE s.verdict = 'settled';
  INSERT INTO rollbacks AS r (capability, root_principal, digest, until)
  SELECT n.capability, n.root_principal, n.digest, max(n.until)
  FROM unnest(p_all) s,
    jsonb_populate_record(NULL::rollbacks, p_more -> s.operation_id -> 'rollback') n
  WHERE s.verdict = 'settled' AND p_more -> s.operation_id ? 'rollback'
  GROUP BY n.capability, n.root_principal, n.digest
  ORDER BY n.capability, n.root_principal, n.digest
  ON CONFLICT (capability, root_principal, digest)
    DO UPDATE SET until = greatest(r.until, EXCLUDED.until);
END $$;

-- The verdicts are in the order of the operation ids.
CREATE FUNCTION writ_settle(
  p_ids text[], p_outcomes text[], p_actual bigint[], p_times timestamptz[], p_running boolean[],
  p_entries text[], p_answers bytea[], p_more jsonb, p_patience_ms integer
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  -- How long to wait for one lock, where that is less than usual.
  v_patience text := CASE WHEN p_patience_ms IS NOT NULL
    THEN set_config('lock_timeout', p_patience_ms::text, true) END;
  v_all settling[];
  v_charged text[];
BEGIN
  v_all := writ_judge_settlements(p_ids, p_outcomes, p_actual, p_times, p_running, p_entries);
  v_charged := ARRAY(SELECT DISTINCT unnest(s.charged) FROM unnest(v_all) s);
  IF v_charged <> '{}' THEN PERFORM writ_hold_budgets(v_charged); END IF;
  IF EXISTS (SELECT FROM unnest(v_all) s WHERE s.leased <> '{}') THEN
    v_all := writ_settle_leases(v_all);
  END IF;
  IF v_charged <> '{}' THEN
    UPDATE budgets b SET reserved = b.reserved - c.reserved, consumed = b.consumed + c.spent
    FROM (
      SELECT t.token_id, sum(s.reserved)::bigint AS reserved, sum(s.spent)::bigint AS spent
      FROM unnest(v_all) s, unnest(s.charged) AS t (token_id)
      WHERE s.verdict = 'settled' GROUP BY t.token_id
    ) c WHERE b.token_id = c.token_id;
  END IF;
  IF p_more IS NOT NULL OR EXISTS (
    SELECT FROM unnest(v_all) s WHERE s.is_keyed OR s.is_composed) THEN
    PERFORM writ_keep_more(v_all, p_answers, p_more);
  END IF;
  UPDATE intents i SET state = 'settled', outcome = s.outcome::intent_outcome, consumed = s.spent,
    entry_id = s.entry_id, settled_at = s.now,
    composing = CASE WHEN s.still_runs THEN i.composing END
  FROM unnest(v_all) s WHERE s.verdict = 'settled' AND i.operation_id = s.operation_id;
  RETURN ARRAY(SELECT s.verdict FROM unnest(v_all) WITH ORDINALITY AS s ORDER BY s.ordinality);
END $$;
`;

export const BATCHES = [ADMIT, SETTLE].join('');
