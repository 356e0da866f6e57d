package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/world"
)

// TestB111_OneEventForABusyParent: the outcome that waits for a busy parent is
// one event, over a crash too, and is told once.
func TestB111_OneEventForABusyParent(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`
  {when: {user: "/^think$/"}, delay: "60s", say: "thought"},
  {when: {task: "/cats/"}, delay: "5s", say: "Cats sleep."},
  {when: {event: "/Cats sleep/"}, say: "they sleep"},`)
	s.say("team", "send cats")
	s.say("team", "think")
	s.pass(30 * time.Second)
	require.Equal(t, core.DeliverySessionQueued, s.run("cats").Delivery)
	s.crash(time.Second)
	s.pass(time.Hour)
	require.Equal(t, []string{"sent", "thought", "they sleep"}, s.told("team"))
	require.Len(t, s.eventRows()[s.run("cats").ID], 1)
}

// TestB113_OnePublisherInAThread: a parent that lives in a thread and its child
// do not both tell the child's outcome there.
func TestB113_OnePublisherInAThread(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } }`, `
  {when: {user: "/^open$/"}, call: [{tool: "sessions_spawn", args: {task: "listen", label: "lead", thread: true}}]},
  {when: {user: "/^dig$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "NO_REPLY"},
  {when: {user: "/listen/"}, say: "I listen."}, {when: {task: "/rex/"}, delay: "5s", say: "a bone"},
  {when: {event: "/a bone/"}, say: "rex has a bone"}, {when: {event: "/./"}, say: "NO_REPLY"},`)
	s.say("team", "open")
	s.pass(time.Second)
	thread := s.thread("team")
	before := len(s.told(thread))
	s.say(thread, "dig")
	s.pass(time.Hour)
	require.Equal(t, []string{"rex has a bone"}, s.told(thread)[before:])
	require.Empty(t, s.told("team"))
	require.Equal(t, core.DeliveryDelivered, s.run("rex").Delivery)
}

// TestB117_NoNoticeBeforeTheTurnHasFailed: a turn that takes long over an
// outcome is waited for, also over a crash in it; its answer is all there is.
func TestB117_NoNoticeBeforeTheTurnHasFailed(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{20 * time.Second, 30 * time.Minute} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprint(takes, " crash ", crash), func(t *testing.T) {
				t.Parallel()
				s := newScene(t, "", spawnRules+fmt.Sprintf(`
  {when: {task: "/cats/"}, delay: "5s", say: "Cats sleep."},
  {when: {event: "/Cats sleep/"}, delay: "%ds", say: "a summary"},`, int(takes.Seconds())))
				s.say("team", "wait for cats")
				s.pass(15 * time.Second)
				require.Empty(t, s.told("team"))
				if crash {
					s.crash(5 * time.Minute)
				}
				s.pass(2 * time.Hour)
				require.Equal(t, []string{"a summary"}, s.told("team"))
				require.Equal(t, core.DeliveryDelivered, s.run("cats").Delivery)
			})
		}
	}
}

// TestB119_OnePlaceToPost: what an agent posts with the tool for that and then
// answers with in the same words is one message; another answer is a second.
func TestB119_OnePlaceToPost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer string
		want         []string
	}{
		{"the same", "The bridge is open.", []string{"The bridge is open."}},
		{"the same but for blanks", " The bridge is open.\n", []string{"The bridge is open."}},
		{"more", "Drive carefully.", []string{"The bridge is open.", "Drive carefully."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "", fmt.Sprintf(`
  {when: {user: "/^tell$/"}, call: [{tool: "message", args: {to: "console:default:team", text: "The bridge is open."}}]},
  {when: {lastTool: "message"}, say: %q},`, c.answer))
			s.say("team", "tell")
			s.pass(time.Minute)
			require.Equal(t, c.want, s.told("team"), "%+v", s.last("").Items)
		})
	}
	t.Run("an outcome", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, "", spawnRules+`
  {when: {task: "/cats/"}, delay: "5s", say: "Cats sleep."},
  {when: {event: "/./"}, call: [{tool: "message", args: {to: "console:default:team", text: "They sleep."}}]},
  {when: {lastTool: "message"}, delay: "5s", say: "They sleep."},`)
		s.say("team", "wait for cats")
		s.pass(time.Hour)
		require.Equal(t, []string{"They sleep."}, s.told("team"))
		require.Equal(t, core.DeliveryDelivered, s.run("cats").Delivery)
	})
}

// TestB121_TheConversationGoesOn: an outcome is one more entry of the
// conversation that was there, not the first of another.
func TestB121_TheConversationGoesOn(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`
  {when: {task: "/cats/"}, delay: "20m", say: "Cats sleep."}, {when: {event: "/./"}, say: "they sleep"},`)
	s.say("team", "send cats")
	for i := range 9 {
		s.say("team", fmt.Sprint("message ", i))
		s.pass(time.Minute)
	}
	key := "agent:main:console:default:group:team"
	before, session := s.last(""), s.session(key).ID
	s.pass(time.Hour)
	after := s.last("")
	require.Equal(t, session, s.session(key).ID)
	require.Len(t, texts(after, model.User), 10)
	require.Len(t, events(after), 1)
	require.Len(t, after.Items, len(before.Items)+2, "the answer to the last message, and the event")
	require.Equal(t, before.Items, after.Items[:len(before.Items)])
}

// TestB123_AStreamThatBreaksPostsNothingTwice: what was posted before the
// error stays the only one of its kind, whichever model goes on.
func TestB123_AStreamThatBreaksPostsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, fail := range []string{"drop", "stall", "500", "429"} {
		t.Run(fail, func(t *testing.T) {
			t.Parallel()
			s := prepareScene(t, `{ agents: { defaults: { fallbacks: ["demo/other"] } } }`, fmt.Sprintf(`
  {when: {user: "/^go$/"}, say: "On it.", call: [{tool: "boom", args: {}}]},
  {when: {lastTool: "boom"}, fail: %q, say: "A long answer, of which half may be on its way already."},`, fail))
			s.options = func(o *app.Options) { o.Tools = append(o.Tools, boom{}) }
			s.start()
			s.say("team", "go")
			s.pass(time.Hour)
			require.Equal(t, []string{"On it.", "A long answer, of which half may be on its way already."}, s.told("team"))
		})
	}
}

// TestB125_AMessageIsWrittenOnce: whatever models fail over it.
func TestB125_AMessageIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { defaults: { fallbacks: ["demo/b", "demo/c", "demo/d", "demo/e"] } } }`,
		`{when: {user: "/^hard$/"}, fail: "500"},`)
	s.say("team", "hard")
	s.pass(time.Hour)
	require.Greater(t, len(s.requests.list("")), 4, "every model was asked")
	require.Len(t, s.told("team"), 1)
	s.say("team", "and now?")
	s.pass(time.Minute)
	require.Equal(t, "ok: and now?", last(s.told("team")))
	require.Equal(t, []string{"hard", "and now?"}, texts(s.last(""), model.User))
}

// TestB129_AReceiptThatIsNeverWritten: the process dies between the post and
// its receipt again and again; people see one message, and it is over then.
func TestB129_AReceiptThatIsNeverWritten(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", spawnRules+`
  {when: {task: "/cats/"}, delay: "5s", say: "Cats sleep."}, {when: {event: "/./"}, say: "they sleep"},`)
	s.say("team", "wait for cats")
	s.world.Arm(world.OutboxAfterSend, 1, world.TrapCut, nil)
	s.pass(6 * time.Second)
	s.options = func(*app.Options) { s.world.Arm(world.OutboxAfterSend, 1, world.TrapCut, nil) }
	for life := range 5 {
		require.Error(t, s.world.Err(), "it was sent in life %d", life)
		s.kill()
		s.clock.AdvanceTo(s.clock.Now().Add(time.Second))
		_ = s.begin() // which is killed, too
		s.pass(time.Minute)
	}
	s.options = nil
	s.crash(time.Second)
	s.pass(200 * time.Minute)
	require.Equal(t, []string{"they sleep"}, s.told("team"))
	require.Equal(t, core.DeliveryDelivered, s.run("cats").Delivery)
}

// TestB151_CallsThatAreWrittenOut: markup of calls in a text is never shown,
// whichever way the text takes to people.
func TestB151_CallsThatAreWrittenOut(t *testing.T) {
	t.Parallel()
	const text = `<tool_call>{"name": "read", "arguments": {"path": "secret"}}</tool_call>Here it is.`
	s := newScene(t, "", fmt.Sprintf(`
  {when: {user: "/^answer$/"}, say: %[1]q},
  {when: {user: "/^progress$/"}, say: %[1]q, call: [{tool: "nothing", args: {}}]}, {when: {lastTool: "nothing"}, say: "done"},
  {when: {user: "/^notice$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "rex"}}]},
  {when: {user: "/^thread$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "fido", thread: true, mode: "run"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "NO_REPLY"}, {when: {task: "/./"}, say: %[1]q}, {when: {event: "/./"}, say: ""},`, text))
	for _, how := range []string{"answer", "progress", "notice", "thread"} {
		s.say("team", how)
		s.pass(time.Minute)
	}
	require.Equal(t, []string{"Here it is.", "Here it is.", "done", "rex is done.\n\nHere it is."}, s.told("team"))
	thread := s.told(s.thread("team"))
	require.Contains(t, thread, "Here it is.")
	require.NotContains(t, strings.Join(thread, "\n"), "secret")
}
