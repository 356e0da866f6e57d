package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Children of a session, of which most have ended: each list has its own.
func testChildren(s *suite) {
	above := s.session().ID
	var made []int64
	for n := range 6 {
		s.write(func(tx *store.Tx) error {
			child, err := tx.InsertSession(store.Session{
				Key: fmt.Sprint("agent:main:subagent:c", n), Agent: "main", Kind: core.SessionSubagent, Parent: above, CreatedAt: 1, UsedAt: 1,
			})
			made = append(made, child.ID)
			return err
		})
		r := newRun(n+1, above, made[n])
		r.RequesterRun = "01RUN99"
		if n == 5 {
			r.RequesterRun = ""
		}
		s.addRun(r)
		s.put(store.Inbox{Session: r.Session, Kind: store.InboxTask, Lane: store.LaneSubagent, Run: r.ID})
	}
	ids := s.runIDs
	// 1 and 6 live; 2 to 5 ended one after the other, and nobody was told of 3
	// and 4: the one is blocked, the other on its way.
	for n, delivery := range []core.Delivery{core.DeliveryDelivered, core.DeliveryBlocked, core.DeliverySessionQueued, core.DeliveryDelivered} {
		s.write(func(tx *store.Tx) error {
			_, err := tx.EndRun(fmt.Sprintf("01RUN%02d", n+2), core.RunOK, "", "done", false, delivery, core.Millis(500+n))
			return err
		})
	}
	s.put(store.Inbox{Session: above, Kind: store.InboxCompletion, Lane: store.LaneMain, Run: "01RUN04", ForRun: "01RUN99"})
	require.Equal(s, []string{"01RUN01", "01RUN06"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.LiveChildrenOf(above) }))
	news := func(since core.Millis, most int) []string {
		return ids(func(tx *store.Tx) ([]core.Run, error) { return tx.NewsOf(above, since, most) })
	}
	require.Equal(s, []string{"01RUN01", "01RUN02", "01RUN03", "01RUN04", "01RUN05", "01RUN06"}, news(500, 5))
	require.Equal(s, []string{"01RUN01", "01RUN03", "01RUN04", "01RUN05", "01RUN06"}, news(501, 5))
	require.Equal(s, []string{"01RUN01", "01RUN04", "01RUN05", "01RUN06"}, news(500, 1), "the newest of each")
	require.Equal(s, []string{"01RUN01", "01RUN03", "01RUN04", "01RUN06"}, news(1000, 5), "what is to be told has no age")
	require.Equal(s, []string{"01RUN03"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.BlockedRunsOf(above, 5) }))
	require.Equal(s, []string{"01RUN01", "01RUN04"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.OpenChildrenOfRun(above, "01RUN99") }))

	s.write(func(tx *store.Tx) error { return tx.ArchiveSession(made[1], 600) })
	require.Equal(s, []string{"01RUN01", "01RUN03", "01RUN04", "01RUN05", "01RUN06"},
		ids(func(tx *store.Tx) ([]core.Run, error) { return tx.OpenRunsOf(above) }))
	asking := func() []int64 {
		return get(s, func(tx *store.Tx) ([]int64, error) { return tx.AskingBelow(above) })
	}
	require.Empty(s, asking())
	for _, n := range []int{1, 3} {
		s.write(func(tx *store.Tx) error { _, err := tx.NextOrdinal(made[n]); return err })
	}
	require.Equal(s, []int64{made[3], made[1]}, asking(), "archived ones too, the newest first")

	for n, root := range []string{"a", "b", "b", "c"} {
		r := newRun(10+n, made[3], made[4])
		r.Root = root
		s.addRun(r)
	}
	require.Equal(s, []string{"01RUN10", "01RUN11", "01RUN12", "01RUN13"}, ids(func(tx *store.Tx) ([]core.Run, error) { return tx.Descendants(made[3]) }),
		"of every tree that it has part in")

	settled := do(s, func(tx *store.Tx) ([]core.Run, error) { return tx.SettleAsked(above) })
	require.Equal(s, []core.Run{s.runNow("01RUN04")}, settled)
	require.Equal(s, core.DeliveryNotRequired, s.runNow("01RUN04").Delivery)
	require.Equal(s, core.DeliveryBlocked, s.runNow("01RUN03").Delivery)
	require.Equal(s, []string{"01RUN01", "01RUN03", "01RUN06"}, news(1000, 5))
}
