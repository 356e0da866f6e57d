package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/world"
)

// TestLedgerIsReadByIndexes: with 10,000 ended children the ledger's lists, its counts
// and what finds one task go by indexes: SQLite's plans neither read the whole
// table nor sort.
func TestLedgerIsReadByIndexes(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "skein.db"), World: world.New(clock.Real{}, nil, 1)})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	const rows = 10_000
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
		for i := range rows {
			r := core.Run{
				ID: fmt.Sprintf("R%05d", i), TaskID: fmt.Sprintf("T%05d", i), Root: "root", Session: int64(i), Requester: int64(i % 100), Agent: "main",
				Status: core.RunOK, Delivery: core.DeliveryDelivered, CreatedAt: core.Millis(i + 1), Ordinal: i,
			}
			if err := tx.InsertRun(r); err != nil {
				return err
			}
		}
		return nil
	}))
	plan := func(query string, args ...any) (out []string) {
		require.NoError(t, db.Read(t.Context(), func(tx *Tx) error {
			_, err := all(tx, func(s scanner) (x struct{}, err error) {
				var id, parent, unused int
				var detail string
				err = s.Scan(&id, &parent, &unused, &detail)
				out = append(out, detail)
				return x, err
			}, "EXPLAIN QUERY PLAN "+query, args...)
			return err
		}))
		return out
	}
	for name, query := range map[string]string{
		"all":       `SELECT ` + runColumns + ` FROM run ORDER BY created_at DESC, id DESC LIMIT 200`,
		"by status": `SELECT ` + runColumns + ` FROM run WHERE status = 'ok' ORDER BY created_at DESC, id DESC LIMIT 200`,
		"by agent":  `SELECT ` + runColumns + ` FROM run WHERE agent = 'main' ORDER BY created_at DESC, id DESC LIMIT 200`,
		"by kind":   `SELECT ` + runColumns + ` FROM run WHERE kind = 'subagent' ORDER BY created_at DESC, id DESC LIMIT 200`,
		"by task":   `SELECT ` + runColumns + ` FROM run WHERE task_id >= 'T1' AND task_id < 'T2' ORDER BY task_id LIMIT 6`,
		"by run":    `SELECT ` + runColumns + ` FROM run WHERE id >= 'R1' AND id < 'R2' ORDER BY id LIMIT 6`,
		"children":  `SELECT COUNT(*) FROM run WHERE requester_id = 1 AND ` + live,
		"tree":      `SELECT COUNT(*) FROM run WHERE root_run_id = 'root' AND ` + live,
		"lost":      `SELECT id FROM run WHERE ` + lost,
		"live":      `SELECT status, COUNT(*) FROM run WHERE ` + live + ` GROUP BY status`,
		"odd":       `SELECT id FROM run WHERE ` + odd,
		"stuck":     `SELECT id FROM run WHERE ` + stuck + ` AND ended_at < 5`,
	} {
		for _, step := range plan(query) {
			whole := strings.HasPrefix(step, "SCAN run") && !strings.Contains(step, "USING")
			require.False(t, whole || strings.Contains(step, "TEMP B-TREE FOR ORDER BY"), "%s: %s", name, step)
		}
	}
}
