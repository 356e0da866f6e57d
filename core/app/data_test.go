package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/store/pgtest"
)

// everywhere returns each value of the store that holds one of the marks, as
// table.column: value.
func (s *scene) everywhere(marks ...string) (found []string) {
	s.Helper()
	for _, v := range pgtest.Values(s, s.storeURL) {
		if slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(v, mark) }) {
			found = append(found, v)
		}
	}
	return found
}

const dataRules = `
  {when: {user: "/^dig (\\w+)$/"}, call: [{tool: "sessions_spawn", args: {task: "dig for $1", label: "$1", thread: true}}]},
  {when: {user: "/^think (\\w+)$/"}, delay: "1h", say: "ok: $1"},
  {when: {lastTool: "sessions_spawn"}, say: "it digs"},
  {when: {task: "/dig for (\\w+)/"}, say: "found something"},
  {when: {event: "/found/"}, say: "It found something."},`

// mallory is the person whose data the tests ask for; "zebra" is in all that
// they write, and in nothing that others write but as a quote.
const mallorys = "console:mallory"

// livesOf fills a store with traces of a person and of others in every place
// where there can be some.
func livesOf(t *testing.T) *scene {
	t.Helper()
	s := prepareScene(t, `{
  channels: { console: { groups: { quiet: { requireMention: true }, "*": {} } } },
  limits: { perUser: { messagesPerMinute: 12 } }, messages: { queue: { mode: "followup" } },
  models: { providers: { demo: { models: [{ id: "m", vision: true }] } } } }`, dataRules)
	s.start()
	for _, place := range []string{"dm:mallory", "team"} {
		_, err := s.server.Post(s.Context(), testserver.Post{By: testserver.User{Name: "mallory"}, At: at(place), Text: "a zebra",
			File: &testserver.File{Name: "zebra.png", Data: []byte(png)}})
		require.NoError(t, err)
		s.quiet()
	}
	s.says("mallory", "dm:mallory", "hello from the zebra")
	s.says("mallory", "dm:mallory", "dig zebra1")
	s.pass(time.Minute)
	s.says("mallory", "dm:mallory", "/reset")
	s.says("mallory", "dm:mallory", "again zebra")
	s.says("mallory", "team", "zebra in the team")
	s.says("alice", "team", "alice speaks too")
	s.says("mallory", "team", "dig zebra2")
	s.pass(time.Minute)
	s.says("mallory", s.thread("team"), "in the thread: zebra")
	s.says("mallory", "quiet", "zebra overheard")
	s.says("alice", "quiet", "@bot what was that?")
	s.says("mallory", "quiet", "zebra overheard again")
	for range 13 {
		s.says("mallory", "other", "zebra, zebra")
	}
	s.pass(time.Minute)
	return s
}

func (s *scene) erase(body string, out any) int {
	s.Helper()
	return call(s.T, s.app.API(), http.MethodPost, "/data/"+mallorys+"/delete", body, out)
}

// TestNothingOfAPersonRemains: after a deletion no table has a trace of the
// person, and everything of the others is as before.
func TestNothingOfAPersonRemains(t *testing.T) {
	t.Parallel()
	s := livesOf(t)
	for _, table := range []string{"transcript.body", "transcript.owner", "session.key", "outbox.text", "turn.owner", "run.task", "binding.owner",
		"history.body", "usage_day.owner", "pace.person", "once_notice.key", "dedupe.key"} {
		require.Contains(t, strings.Join(s.everywhere("zebra", "mallory"), "\n"), table, "the traces are where they are looked for")
	}
	const picture = "iVBORw0KGgogYSBzbWFsbCBwaWN0dXJl"
	require.Len(t, s.everywhere(picture), 2)
	var report app.DataReport
	require.Equal(t, http.StatusOK, s.erase(`{}`, &report))
	require.Empty(t, report.Stopped)
	for _, c := range report.Tables {
		require.True(t, c.Removed > 0 || c.Emptied > 0 || c.Table == "inbox" || c.Table == "loop_guard", c) // a person is no bot
	}
	require.Empty(t, s.everywhere("zebra", "mallory", picture))

	s.says("alice", "team", "still with me?")
	require.Equal(t, "ok: still with me?", s.told("team")[len(s.told("team"))-1])
	asked := s.last("")
	require.Contains(t, texts(asked, model.User), "alice speaks too", "what others wrote stays")
	require.Contains(t, texts(asked, model.User), app.Removed)
	require.NoError(t, model.Validate(asked.Items), "calls and results are pairs as before")
	require.NotContains(t, fmt.Sprint(asked.Items), "zebra", "nor in memory")
	require.Equal(t, http.StatusOK, s.erase(`{}`, &report))
	for _, c := range report.Tables {
		require.Zero(t, c.Removed+c.Emptied, "%s: again there is nothing", c.Table)
	}
	s.says("mallory", "dm:mallory", "who am I?")
	require.Equal(t, "ok: who am I?", s.told("dm:mallory")[len(s.told("dm:mallory"))-1])
	require.Len(t, s.last("").Items, 1, "a history that begins anew")
}

// TestADeletionOverACrash: it is one transaction; what is in memory is that of
// the next start.
func TestADeletionOverACrash(t *testing.T) {
	t.Parallel()
	s := livesOf(t)
	require.Equal(t, http.StatusOK, s.erase(`{}`, nil))
	s.crash(time.Second)
	s.pass(40 * 24 * time.Hour)
	require.Empty(t, s.everywhere("zebra", "mallory"))
}

// TestADeletionWaitsForNobody: while something is in progress for the person it
// is refused; with force that is stopped, and others' messages still wait.
func TestADeletionWaitsForNobody(t *testing.T) {
	t.Parallel()
	s := livesOf(t)
	s.says("mallory", "team", "think zebra")
	s.says("alice", "team", "and I wait behind it")
	s.says("mallory", "team", "zebra waits too")
	before := len(s.everywhere("zebra", "mallory"))
	status, code := refused(t, s.app.API(), http.MethodPost, "/data/"+mallorys+"/delete", `{}`)
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "data_busy", code)
	require.Len(t, s.everywhere("zebra", "mallory"), before, "a refusal changes nothing")
	var report app.DataReport
	require.Equal(t, http.StatusOK, s.erase(`{"force": true}`, &report))
	require.Contains(t, report.Stopped, "a turn of agent:main:console")
	s.quiet()
	require.Equal(t, "ok: and I wait behind it", s.told("team")[len(s.told("team"))-1])
	require.Empty(t, s.everywhere("zebra", "mallory"))

	s.says("mallory", "dm:mallory", "think zebra")
	require.Equal(t, http.StatusOK, s.erase(`{"force": true}`, &report))
	s.pass(2 * time.Hour)
	require.Empty(t, s.everywhere("zebra", "mallory"))
	require.True(t, s.doctor().OK)
}

// TestADeletionWithoutAGateway: the store alone is enough.
func TestADeletionWithoutAGateway(t *testing.T) {
	t.Parallel()
	s := livesOf(t)
	s.says("mallory", "dm:mallory", "think zebra")
	s.kill()
	db, err := store.Open(t.Context(), pgtest.Options(s.storeURL, s.freshWorld()))
	require.NoError(t, err)
	_, err = app.EraseData(t.Context(), db, mallorys, false)
	require.ErrorContains(t, err, "is in progress")
	_, err = app.EraseData(t.Context(), db, "mallory", false)
	require.ErrorContains(t, err, "names no person")
	_, err = app.EraseData(t.Context(), db, mallorys, true)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.Empty(t, s.everywhere("zebra", "mallory"))
	s.start()
	s.says("alice", "team", "hello again")
	require.Equal(t, "ok: hello again", s.told("team")[len(s.told("team"))-1])
}

// TestWhatIsKnownOfAPerson: an export has all that a deletion removes.
func TestWhatIsKnownOfAPerson(t *testing.T) {
	t.Parallel()
	s := livesOf(t)
	var d app.DataView
	api := s.app.API()
	require.Equal(t, http.StatusOK, call(t, api, http.MethodGet, "/data/"+mallorys, "", &d))
	require.Equal(t, mallorys, d.Person)
	require.Len(t, d.Sessions, 3, "the direct chat, and the sub-agents that nobody else wrote to")
	require.Len(t, d.Shared, 3)
	require.Len(t, d.Tasks, 2)
	require.NotEmpty(t, d.Bindings)
	require.NotEmpty(t, d.Outbox)
	require.NotEmpty(t, d.Usage)
	require.Len(t, d.Pictures, 2)
	require.Empty(t, d.Pictures[0].Data)
	var picture app.PictureView
	require.Equal(t, http.StatusOK, call(t, api, http.MethodGet, "/data/"+mallorys+"/picture?ref="+d.Pictures[1].Ref, "", &picture))
	require.NotEmpty(t, picture.Data)
	_, code := refused(t, api, http.MethodGet, "/data/console:alice/picture?ref="+d.Pictures[1].Ref, "")
	require.Equal(t, "picture_unknown", code)
	require.Len(t, d.Seen, 1)
	for _, shared := range d.Shared {
		for _, row := range shared.Rows {
			require.NotContains(t, string(row.Item), "alice speaks", "only their own")
		}
	}
	var rows []app.RowView
	path := fmt.Sprintf("/data/%s/transcript?session=%d&limit=3", mallorys, d.Sessions[0].ID)
	require.Equal(t, http.StatusOK, call(t, api, http.MethodGet, path, "", &rows))
	require.Len(t, rows, 3)
	require.Contains(t, string(rows[0].Item), "a zebra", "from before the reset")
	require.Equal(t, http.StatusOK, call(t, api, http.MethodGet, fmt.Sprintf("%s&after=%d", path, rows[2].Row), "", &rows))
	require.NotEmpty(t, rows)
	_, code = refused(t, api, http.MethodGet, fmt.Sprintf("/data/%s/transcript?session=%d", mallorys, d.Shared[0].ID), "")
	require.Equal(t, "session_unknown", code, "what others share is not theirs whole")
	_, code = refused(t, api, http.MethodGet, "/data/mallory", "")
	require.Equal(t, "bad_person", code)
}
