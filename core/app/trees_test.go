package app_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// sprout is a sub-agent of a random tree.
type sprout struct {
	name   string
	ending string // ok, silent, skip, error or timeout
	join   string // how it waits for its children; "" ends its turn at once
	delay  int    // seconds until it answers
	below  []*sprout
}

// story is a random tree with what happens to it.
type story struct {
	tops   []*sprout
	join   string
	stopAt int // seconds, 0 for never
	// stopCrash is the pass of a crash point, from the arrival of the stop on, at
	// which the process dies.
	stopCrash int
	stopped   int   // how many messages there were in the chat then
	crashes   []int // the nth pass of any crash point
	silent    bool  // the chat says nothing about outcomes
}

func drawStory(t *rapid.T) story {
	made := 0
	var draw func(depth int) *sprout
	draw = func(depth int) *sprout {
		made++
		n := &sprout{
			name: fmt.Sprintf("n%d", made), delay: rapid.IntRange(0, 40).Draw(t, "delay"),
			ending: rapid.SampledFrom([]string{"ok", "ok", "ok", "silent", "skip", "error", "timeout"}).Draw(t, "ending"),
		}
		if depth < 3 && n.ending != "error" {
			for i := rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "children"); i > 0 && made < 9; i-- {
				n.below = append(n.below, draw(depth+1))
			}
			n.join = drawJoin(t, len(n.below))
		}
		return n
	}
	s := story{silent: rapid.IntRange(0, 3).Draw(t, "silent") == 0}
	for range rapid.IntRange(1, 3).Draw(t, "tops") {
		s.tops = append(s.tops, draw(1))
	}
	s.join = drawJoin(t, len(s.tops))
	if rapid.IntRange(0, 3).Draw(t, "stops") == 0 {
		s.stopAt = rapid.IntRange(1, 60).Draw(t, "stop")
		s.stopCrash = rapid.IntRange(1, 12).Draw(t, "crash of the stop")
	}
	s.crashes = rapid.SliceOfN(rapid.IntRange(1, 60), 0, 4).Draw(t, "crashes")
	return s
}

// drawJoin is a join of a wait for n children.
func drawJoin(t *rapid.T, n int) string {
	if n == 0 {
		return ""
	}
	return rapid.SampledFrom([]string{"", `"all"`, `"all"`, `"any"`, fmt.Sprint((n + 1) / 2)}).Draw(t, "join")
}

// rules are the model's part.
func (x *story) rules() string {
	var b strings.Builder
	fmt.Fprintf(&b, "{when: {user: \"/^go$/\"}, call: [%s]},\n", spawnCalls(x.tops, x.join))
	var write func(n *sprout)
	write = func(n *sprout) {
		when := fmt.Sprintf("task: \"/^%s$/\"", n.name)
		say := map[string]string{"ok": n.name + " has found it", "silent": "NO_REPLY", "skip": "ANNOUNCE_SKIP"}[n.ending]
		delay := n.delay
		switch {
		case n.ending == "error":
			fmt.Fprintf(&b, "{when: {%s, user: \"/Subagent Task/\"}, delay: \"%ds\", call: [{tool: \"boom\", args: {}}]},\n", when, n.delay)
			say = n.name + " believes it worked"
		case len(n.below) > 0:
			fmt.Fprintf(&b, "{when: {%s, user: \"/Subagent Task/\"}, call: [%s]},\n", when, spawnCalls(n.below, n.join))
		}
		if n.ending == "timeout" {
			say, delay = "late", 3600
		}
		fmt.Fprintf(&b, "{when: {%s}, delay: \"%ds\", say: %q},\n", when, delay, say)
		for _, c := range n.below {
			write(c)
		}
	}
	for _, n := range x.tops {
		write(n)
	}
	if x.silent {
		b.WriteString(`{when: {event: "/./"}, say: ""},`)
	} else {
		b.WriteString(`{when: {event: "/./"}, say: "heard"},`)
	}
	b.WriteString(`{when: {lastTool: "sessions_spawn"}, say: "started"},`)
	return b.String()
}

func spawnCalls(list []*sprout, join string) string {
	var out []string
	for _, n := range list {
		limit := ""
		if n.ending == "timeout" {
			limit = ", runTimeoutSeconds: 50"
		}
		out = append(out, fmt.Sprintf("{tool: \"sessions_spawn\", args: {task: %q, label: %q%s}}", n.name, n.name, limit))
	}
	if join != "" {
		out = append(out, fmt.Sprintf("{tool: \"sessions_yield\", args: {join: %s}}", join))
	}
	return strings.Join(out, ", ")
}

// boom is a tool that always fails.
type boom struct{}

func (boom) Spec() core.ToolSpec { return core.ToolSpec{Name: "boom", ReadOnly: true} }
func (boom) Invoke(context.Context, core.ToolScope, core.ToolCall) (core.ToolResult, error) {
	return core.ToolResult{}, errors.New("it never works")
}

// TestEveryOutcomeIsToldOnce: whatever trees of sub-agents do, wherever the
// process is killed, each that owes an outcome ends in exactly one event of its
// requester's transcript or one notice, and what was stopped in none.
func TestEveryOutcomeIsToldOnce(t *testing.T) {
	t.Parallel()
	stories := rapid.Custom(drawStory)
	for seed := range treesPlayed {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			story := stories.Example(seed)
			defer func() {
				if t.Failed() {
					t.Logf("join %s, stop at %d s, crashes %v, silent %v\n%s", story.join, story.stopAt, story.crashes, story.silent, story.rules())
				}
			}()
			s := prepareScene(t, `{agents: {defaults: {subagents: {maxSpawnDepth: 3}}}}`, story.rules())
			s.options = func(o *app.Options) { o.Tools = append(o.Tools, boom{}) }
			s.start()
			story.play(s)
			story.judge(s)
		})
	}
}

func (x *story) play(s *scene) {
	s.say("team", "go")
	arm := func() {
		if len(x.crashes) > 0 {
			s.world.Arm(world.AnyPoint, x.crashes[0], world.TrapCut, nil)
			x.crashes = x.crashes[1:]
		}
	}
	arm()
	for second := 1; second < 400; second++ {
		if second == x.stopAt {
			x.stop(s)
		}
		s.pass(time.Second)
		if s.world.Err() != nil {
			s.crash(3 * time.Second)
			arm()
		}
	}
	s.world.Disarm()
	s.pass(2 * time.Hour)
}

// stop writes /stop, with a crash point armed that is passed while it is
// obeyed. What was told until it was obeyed is all that is ever told.
func (x *story) stop(s *scene) {
	if s.world.Err() != nil {
		s.crash(3 * time.Second)
	}
	s.world.Disarm()
	s.world.Arm(world.AnyPoint, x.stopCrash, world.TrapCut, nil)
	s.says("alice", "team", "/stop")
	if s.world.Err() != nil {
		s.crash(3 * time.Second)
	}
	s.world.Disarm()
	s.quiet()
	told := s.told("team")
	require.Regexp(s, stopReply, last(told))
	x.stopped = len(told)
}

// stopReply is what /stop answers.
const stopReply = `(?i)(stopped \d+ of \d+|nothing)`

// judge holds every run to its one outcome.
func (x *story) judge(s *scene) {
	seen, notices := s.eventRows(), s.notices()
	chat := s.session("agent:main:console:default:group:team").ID
	require.NotEmpty(s, s.runs())
	for _, r := range s.runs() {
		x.judgeRun(s, r, seen[r.ID], notices[r.ID], chat)
	}
	if x.stopAt > 0 {
		require.Len(s, s.told("team"), x.stopped, "something was told after the stop: %q", s.told("team"))
	}
	s.read(func(tx *store.Tx) error {
		load, err := tx.Load(s.world.Now())
		require.Zero(s, load.Waits, "a wait was left")
		return err
	})
}

// judgeRun: the one event of a run is in the transcript of whoever it went to,
// or in its place there is the runtime's notice. Both are there only where the
// chat had the event and said nothing.
func (x *story) judgeRun(s *scene, r core.Run, seen []int64, notices int, chat int64) {
	name := fmt.Sprintf("%s ended %s (%s), delivery %s, events in %v, %d notices", r.Label, r.Status, r.Detail, r.Delivery, seen, notices)
	require.False(s, r.Status.Live(), name)
	if r.Status == core.RunCancelled {
		require.Empty(s, seen, name)
		require.Zero(s, notices, name)
		require.NotZero(s, x.stopAt, name)
		return
	}
	require.LessOrEqual(s, len(seen), 1, name)
	require.Contains(s, []core.Delivery{core.DeliveryDelivered, core.DeliveryNotRequired}, r.Delivery, name)
	owes := r.Status != core.RunOK || x.find(r.Label).speaks()
	switch {
	case !owes:
		require.Equal(s, core.DeliveryNotRequired, r.Delivery, name)
		require.Zero(s, notices, name)
	case x.stopAt > 0 && r.Delivery == core.DeliveryNotRequired: // whoever was to take its event was stopped
		require.Zero(s, notices, name)
	case len(seen) == 0:
		require.Equal(s, 1, notices, name)
	case seen[0] == chat && x.silent:
		require.Equal(s, 1, notices, name)
	default:
		require.Zero(s, notices, name)
	}
	if owes && x.stopAt == 0 {
		require.Equal(s, core.DeliveryDelivered, r.Delivery, name)
	}
}

// find returns the sub-agent with a name.
func (x *story) find(name string) *sprout {
	open := x.tops
	for len(open) > 0 {
		n := open[0]
		if n.name == name {
			return n
		}
		open = append(open[1:len(open):len(open)], n.below...)
	}
	return nil
}

// speaks reports whether its outcome is owed if it ends well.
func (n *sprout) speaks() bool { return n.ending != "silent" && n.ending != "skip" }

// eventRows returns the sessions in whose transcripts the events of each run
// are, one for each event.
func (s *scene) eventRows() map[string][]int64 {
	s.Helper()
	out := make(map[string][]int64)
	s.read(func(tx *store.Tx) error {
		for _, archived := range []bool{false, true} {
			sessions, err := tx.Sessions(archived, 100)
			if err != nil {
				return err
			}
			for _, x := range sessions {
				rows, err := tx.WholeTranscript(x)
				if err != nil {
					return err
				}
				for _, row := range rows {
					item, err := model.DecodeItem(row.Body)
					if err != nil {
						return err
					}
					if item.Completion != nil {
						out[item.Completion.RunID] = append(out[item.Completion.RunID], x.ID)
					}
				}
			}
		}
		return nil
	})
	return out
}

// notices counts the runtime's own messages about each run.
func (s *scene) notices() map[string]int {
	s.Helper()
	out := make(map[string]int)
	s.read(func(tx *store.Tx) error {
		rows, err := tx.ListOutbox("", 1000)
		for _, row := range rows {
			if row.Kind == store.OutNotice && row.State == store.OutSent {
				for _, id := range row.Tells {
					out[id]++
				}
			}
		}
		return err
	})
	return out
}
