package app_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// branch is what one run does, or at the top a chat that is told to go. Pauses
// are in seconds.
type branch struct {
	name     string
	pause    int // before the first turn says or calls anything
	children []*branch
	yield    bool
	join     string // JSON
	deadline int    // 0 for none
	resumed  int    // the pause of each resumed turn
	wave     []*branch
}

// lanePlan is what happens in one play.
type lanePlan struct {
	main, subagent int
	chats          []*branch
	starts         []int // when each chat is told to go
	words          []int // when people say something, in the chats by turns
}

func drawPlan(t *rapid.T) lanePlan {
	names := 0
	p := lanePlan{main: rapid.IntRange(1, 3).Draw(t, "main"), subagent: rapid.IntRange(1, 4).Draw(t, "subagent")}
	for range rapid.IntRange(1, 3).Draw(t, "chats") {
		p.chats = append(p.chats, drawBranch(t, &names, 0))
		p.starts = append(p.starts, rapid.IntRange(0, 6).Draw(t, "start"))
	}
	p.words = rapid.SliceOfN(rapid.IntRange(0, 30), 0, 8).Draw(t, "words")
	return p
}

// planDepth and planRuns bound the trees.
const (
	planDepth = 3
	planRuns  = 24
)

func drawBranch(t *rapid.T, names *int, depth int) *branch {
	*names++
	b := &branch{name: fmt.Sprintf("n%d", *names), pause: rapid.IntRange(1, 4).Draw(t, "pause")}
	grow := func(most int) (out []*branch) {
		if depth == planDepth {
			return nil
		}
		for range rapid.IntRange(0, most).Draw(t, "children") {
			if *names < planRuns {
				out = append(out, drawBranch(t, names, depth+1))
			}
		}
		return out
	}
	if b.children = grow(4); depth == 0 && len(b.children) == 0 {
		b.children = []*branch{drawBranch(t, names, depth+1)}
	}
	if len(b.children) == 0 {
		return b
	}
	if b.yield = rapid.Bool().Draw(t, "yield"); b.yield {
		b.join = rapid.SampledFrom([]string{`"all"`, `"any"`, "1", "2", "9"}).Draw(t, "join")
		b.deadline = rapid.SampledFrom([]int{0, 0, 1, 3, 7}).Draw(t, "deadline")
	}
	b.resumed, b.wave = rapid.IntRange(1, 3).Draw(t, "resumed"), grow(2)
	return b
}

// rules are the model's part of a branch and of all below it.
func (b *branch) rules(out *strings.Builder, chat bool) {
	whose := fmt.Sprintf(`task: "/^%s$/"`, b.name)
	first := whose + `, user: "/./"`
	if chat {
		whose, first = `agent: "main"`, fmt.Sprintf(`user: "/^go %s$/"`, b.name)
	}
	calls := func(of []*branch) string {
		var c []string
		for _, x := range of {
			c = append(c, fmt.Sprintf(`{tool: "sessions_spawn", args: {task: %q, label: %q}}`, x.name, x.name))
		}
		if b.yield {
			terms := "join: " + b.join
			if b.deadline > 0 {
				terms += fmt.Sprintf(", deadlineSeconds: %d", b.deadline)
			}
			c = append(c, `{tool: "sessions_yield", args: {`+terms+`}}`)
		}
		return strings.Join(c, ",")
	}
	rule := func(when string, pause int, does string) {
		fmt.Fprintf(out, "{when: {%s}, delay: \"%ds\", %s},\n", when, pause, does)
	}
	switch {
	case len(b.children) == 0:
		rule(first, b.pause, fmt.Sprintf(`say: "%s done"`, b.name))
	default:
		rule(first, b.pause, `call: [`+calls(b.children)+`]`)
	}
	if !chat && len(b.wave) > 0 {
		rule(whose+`, event: "/./"`, b.resumed, `times: 1, call: [`+calls(b.wave)+`]`)
	}
	if !chat {
		rule(whose, max(b.resumed, 1), fmt.Sprintf(`say: "%s done"`, b.name))
	}
	for _, x := range slices.Concat(b.children, b.wave) {
		x.rules(out, false)
	}
}

// GoString is short, for the report of a plan that fails.
func (p lanePlan) GoString() string {
	return fmt.Sprintf("main %d, subagent %d, %v at %v s, words at %v s", p.main, p.subagent, p.chats, p.starts, p.words)
}

// String is short, too.
func (b *branch) String() string {
	out := fmt.Sprintf("%s %ds", b.name, b.pause)
	if len(b.children) == 0 {
		return out
	}
	out += fmt.Sprintf(" %v", b.children)
	if b.yield {
		out += fmt.Sprintf(" join %s until %ds", b.join, b.deadline)
	}
	return out + fmt.Sprintf(" then %ds %v", b.resumed, b.wave)
}

// size is how many runs a branch has below it; a chat's second wave is not used.
func (b *branch) size(chat bool) (n int) {
	below := b.children
	if !chat {
		below = slices.Concat(below, b.wave)
	}
	for _, x := range below {
		n += 1 + x.size(false)
	}
	return n
}

// instant is what a moment at which nothing was in progress left in the store.
type instant struct {
	at      core.Millis
	running map[store.Lane]int
	waiting map[store.Lane]int // sessions with input and without a turn
	runs    map[string]core.Run
	resumed []int64 // the heads of the inboxes of runs that are to go on
}

// look reads an instant, in a unit of work: so after every claim that is on its
// way.
func (s *scene) look() (i instant) {
	s.Helper()
	require.NoError(s, s.app.DB().Write(s.Context(), func(tx *store.Tx) error {
		i = instant{at: s.world.Now(), running: map[store.Lane]int{}, waiting: map[store.Lane]int{}, runs: map[string]core.Run{}}
		sessions, err := tx.Sessions(false, 1000)
		if err != nil {
			return err
		}
		for _, x := range sessions {
			if err := i.add(tx, x.ID); err != nil {
				return err
			}
		}
		runs, err := tx.RecentRuns(1000)
		for _, r := range runs {
			i.runs[r.ID] = r
		}
		return err
	}))
	return i
}

func (i *instant) add(tx *store.Tx, session int64) error {
	turn, err := tx.RunningTurn(session)
	if err == nil {
		i.running[turn.Lane]++
		return nil
	}
	rows, err := tx.QueuedInbox(session, 1)
	if err != nil || len(rows) == 0 {
		return err
	}
	i.waiting[rows[0].Lane]++
	if rows[0].Lane == store.LaneSubagent && rows[0].Kind != store.InboxTask {
		i.resumed = append(i.resumed, rows[0].ID)
	}
	return nil
}

// play plays a plan to its end and returns every instant of it.
func (p lanePlan) play(t *testing.T) (seen []instant, told []string) {
	t.Helper()
	var rules strings.Builder
	rules.WriteString(`{when: {user: "/^word/"}, delay: "2s", say: "a word back"},`)
	for _, c := range p.chats {
		c.rules(&rules, true)
	}
	rules.WriteString(`{when: {event: "/./"}, delay: "1s", say: "heard of it"},`)
	s := newScene(t, fmt.Sprintf(`{
  agents: { defaults: { maxConcurrent: %d, subagents: {
    maxConcurrent: %d, maxSpawnDepth: 5, maxChildrenPerAgent: 20, maxTreeRuns: 0 } } },
  messages: { queue: { mode: "followup", debounceMs: 0 } }, limits: { perUser: { messagesPerMinute: 0 } } }`, p.main, p.subagent), rules.String())
	type saying struct {
		at          int
		place, text string
	}
	var says []saying
	for i, c := range p.chats {
		says = append(says, saying{p.starts[i], fmt.Sprint("chat", i), "go " + c.name})
	}
	for i, at := range p.words {
		says = append(says, saying{at, fmt.Sprint("chat", i%len(p.chats)), fmt.Sprint("word ", i)})
	}
	slices.SortStableFunc(says, func(a, b saying) int { return cmp.Compare(a.at, b.at) })
	began := s.clock.Now()
	passTo := func(end time.Time) {
		for {
			s.quiet()
			seen = append(seen, s.look())
			due, ok := s.clock.Next()
			if !ok || due.After(end) {
				break
			}
			s.clock.AdvanceTo(due)
		}
		s.clock.AdvanceTo(end)
	}
	for _, x := range says {
		passTo(began.Add(time.Duration(x.at) * time.Second))
		s.say(x.place, x.text)
	}
	passTo(s.clock.Now().Add(20 * time.Minute))
	for i := range p.chats {
		told = append(told, s.told(fmt.Sprint("chat", i))...)
	}
	load := s.load()
	require.Zero(t, load.Waits, "nobody waits any more")
	require.Zero(t, load.Turns)
	s.kill()
	return seen, told
}

// TestLanes: whatever trees of runs do, with lanes of whatever size and people
// who talk meanwhile, no more turns run than a lane has slots; no slot stays
// empty while somebody could use it, so what waits holds none; runs that are to
// go on come before new ones, and these in their order; and everything ends.
func TestLanes(t *testing.T) { //nolint:paralleltest // it sets how many plans are tried
	setChecks(t, lanePlans)
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.Custom(drawPlan).Draw(rt, "plan")
		var seen []instant
		var told []string
		t.Run("plan", func(t *testing.T) { seen, told = p.play(t) })
		if t.Failed() {
			rt.FailNow()
		}
		for i := range seen {
			p.checkSlots(rt, seen[i])
			if i > 0 {
				checkOrder(rt, seen[i-1], seen[i])
			}
		}
		p.checkEnd(rt, seen[len(seen)-1], told)
	})
}

// setChecks sets how often a property is tried in this test.
func setChecks(t *testing.T, n int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	require.NoError(t, f.Value.Set(fmt.Sprint(n)))
	t.Cleanup(func() { require.NoError(t, f.Value.Set(before)) })
}

func (p lanePlan) checkSlots(t *rapid.T, now instant) {
	for lane, slots := range map[store.Lane]int{store.LaneMain: p.main, store.LaneSubagent: p.subagent} {
		require.LessOrEqual(t, now.running[lane], slots, "at %d: turns in the lane %s", now.at, lane)
		if now.waiting[lane] > 0 {
			require.Equal(t, slots, now.running[lane], "at %d: %d wait in the lane %s for a slot that nobody has", now.at, now.waiting[lane], lane)
		}
	}
}

// checkOrder compares two instants that follow each other.
func checkOrder(t *rapid.T, before, now instant) {
	var began, queued []core.Run
	for id, r := range now.runs {
		was, there := before.runs[id]
		switch {
		case there && was.Status != core.RunQueued:
		case r.Status != core.RunQueued:
			began = append(began, r)
		case there:
			queued = append(queued, r)
		}
	}
	if len(began) == 0 {
		return
	}
	for _, row := range before.resumed {
		require.NotContains(t, now.resumed, row, "at %d: a new run began before one that was to go on", now.at)
	}
	for _, b := range began {
		for _, q := range queued {
			require.GreaterOrEqual(t, q.CreatedAt, b.CreatedAt, "at %d: %s began before %s", now.at, b.Label, q.Label)
			require.False(t, q.Requester == b.Requester && q.Ordinal < b.Ordinal, "at %d: %s began before %s", now.at, b.Label, q.Label)
		}
	}
}

func (p lanePlan) checkEnd(t *rapid.T, end instant, told []string) {
	want := 0
	for _, c := range p.chats {
		want += c.size(true)
	}
	require.Len(t, slices.Collect(maps.Keys(end.runs)), want)
	for _, r := range end.runs {
		require.Equal(t, core.RunOK, r.Status, "%s", r.Label)
		require.Equal(t, r.Label+" done", r.Result)
		require.Contains(t, []core.Delivery{core.DeliveryDelivered, core.DeliveryNotRequired}, r.Delivery, "%s", r.Label)
	}
	require.Zero(t, end.waiting[store.LaneMain]+end.waiting[store.LaneSubagent])
	require.NotEmpty(t, told)
}
