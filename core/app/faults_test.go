package app_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
	. "github.com/skein-bot/skein/core/model/modeltest" //nolint:revive // the table reads as a list of answers
)

// What the person reads where a turn failed.
const (
	failedPrefix = "This did not work: the model did not answer: "

	saysLimited    = failedPrefix + "it is rate limited; try again in a few minutes."
	saysOverloaded = failedPrefix + "it is overloaded; try again in a few minutes."
	saysUnreached  = failedPrefix + "it could not be reached; try again in a few minutes."
	saysSilent     = failedPrefix + "it was silent for too long (models.stallSeconds); try again in a few minutes."
	saysBroken     = failedPrefix + "its answer broke off; try again."
	saysNoService  = failedPrefix + "what answers at its address is no model service; an operator must check its base URL."
	saysOverflow   = failedPrefix + "the conversation is longer than it can read; start afresh with /new."
	saysNoCredit   = failedPrefix + "its account has no credit left; an operator must look at the bill."
	saysRefused    = failedPrefix + "it declined to answer; ask in other words, or start afresh with /new."
	saysTooLarge   = failedPrefix + "its answer was too large to be used; ask for less at once."
	saysTrouble500 = failedPrefix + "its service has trouble (status 500); try again in a few minutes."
	saysLimited1s  = failedPrefix + "it takes no more requests for 1s; try again then."
	saysNothing    = "(The agent finished without an answer.)"
)

// fault is one thing that goes wrong with a model.
type fault struct {
	name string
	// answers are what the model gives, the last one again and again.
	answers func(s *scene) []Answer
	// want is what the person reads where there is no other model, exactly.
	want string
	// tries is how often the model is asked then, 0 for any number.
	tries int
	// within is how long the person waits at most.
	within time.Duration
	// stays is set where no fallback is asked, because it is an answer, or
	// becomes one.
	stays bool
}

func always(answers ...Answer) func(*scene) []Answer {
	return func(*scene) []Answer { return answers }
}

// faults returns every row. Those of one protocol alone are in its provider's
// own tests.
func faults() []fault {
	const minute = time.Minute
	text, end := Text("half an"), Finish("end")
	call := func(id, args string) Event { return Call(0, id, "no_such_tool", args) }
	waits := func(header, value string) Answer {
		return Refuse(http.StatusTooManyRequests, "rate_limit_error", "slow down", header, value)
	}
	stall := func(open func(Sleeper, func(), ...Event) Answer, events ...Event) func(*scene) []Answer {
		return func(s *scene) []Answer {
			return []Answer{open(clock.Real{}, s.waiting, events...)}
		}
	}
	return slices.Concat([]fault{
		// The service refuses.
		{name: "401", answers: always(Refuse(401, "authentication_error", "bad key")), tries: 1, want: failedPrefix + "its credentials were refused; an operator must check the configured key."},
		{name: "402", answers: always(Refuse(402, "billing_error", "card")), tries: 1, want: saysNoCredit},
		{name: "403", answers: always(Refuse(403, "permission_error", "not this model")), tries: 1, want: failedPrefix + "its credentials do not allow it; an operator must check what the key may use."},
		{name: "404 no such model", answers: always(Refuse(404, "not_found_error", "no such model")), tries: 1, want: failedPrefix + "its service does not know it; an operator must check the model's name."},
		{name: "400", answers: always(Refuse(400, "invalid_request_error", "unknown field")), tries: 1, want: failedPrefix + "it refused the request as malformed; start afresh with /new, and tell an operator if that does not help."},
		{name: "400 context overflow", answers: always(Refuse(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum context length")), want: saysOverflow},
		{name: "413", answers: always(Status(413, "")), want: saysOverflow},
		{name: "refusal", answers: always(Stream(Text("I"), Finish("refusal"), End())), tries: 1, want: saysRefused, stays: true},

		// The service asks for patience.
		{name: "429 without a wait", answers: always(Refuse(429, "rate_limit_error", "slow down")), tries: 5, within: 16 * time.Second, want: saysLimited},
		{name: "429 with a wait in seconds", answers: always(waits("Retry-After", "7"), Say("fine")), tries: 2, within: 8 * time.Second, want: "fine", stays: true},
		{name: "429 with a wait in milliseconds", answers: always(waits("Retry-After-Ms", "1500"), Say("fine")), tries: 2, within: 2 * time.Second, want: "fine", stays: true},
		{name: "429 with a date", answers: func(s *scene) []Answer {
			return []Answer{waits("Retry-After", s.clock.Now().Add(9*time.Second).UTC().Format(http.TimeFormat)), Say("fine")}
		}, tries: 2, within: 10 * time.Second, want: "fine", stays: true},
		{name: "429 with a long wait", answers: always(waits("Retry-After", "1800")), tries: 1, within: time.Second, want: failedPrefix + "it takes no more requests for 30m; try again then."},
		{name: "429 inside the stream", answers: always(Stream(Failure("rate_limit_error", "slow down"))), tries: 5, want: saysLimited},

		// The service is in trouble.
		{name: "500", answers: always(Refuse(500, "api_error", "oops")), tries: 5, within: 16 * time.Second, want: saysTrouble500},
		{name: "500 once", answers: always(Refuse(500, "api_error", "oops"), Say("fine")), tries: 2, within: 2 * time.Second, want: "fine", stays: true},
		{name: "502 with a page", answers: always(Status(502, "<html>Bad gateway</html>")), tries: 5, want: failedPrefix + "its service has trouble (status 502); try again in a few minutes."},
		{name: "503", answers: always(Status(503, "")), tries: 5, want: saysOverloaded},
		{name: "529", answers: always(Refuse(529, "overloaded_error", "Overloaded")), tries: 5, want: saysOverloaded},
		{name: "200 with an error body", answers: always(Refuse(200, "overloaded_error", "Overloaded")), tries: 5, want: saysOverloaded},
		{name: "an error in the middle", answers: always(Stream(text, Failure("overloaded_error", "Overloaded"))), tries: 5, want: saysOverloaded},

		// The connection.
		{name: "dropped before an answer", answers: always(Dropped()), tries: 5, want: saysUnreached},
		{name: "broken in the middle", answers: always(Broken(text)), tries: 5, want: saysBroken},
		{name: "broken once", answers: always(Broken(text), Say("fine")), tries: 2, want: "fine", stays: true},
		{name: "silent from the start", answers: stall(Silent), tries: 5, within: 10 * minute, want: saysSilent},
		{name: "silent in the middle", answers: stall(Silent, text), tries: 5, within: 10 * minute, want: saysSilent},
		{name: "signs of life and nothing else", answers: stall(Pinging, text), tries: 5, within: 40 * minute, want: saysSilent},
	}, []fault{
		// The stream.
		{name: "cut off before text", answers: always(Stream(Empty())), tries: 5, want: saysBroken},
		{name: "cut off in the text", answers: always(Stream(text)), tries: 5, want: saysBroken},
		{name: "cut off in a call", answers: always(Stream(call("a", `{"n":`))), tries: 5, want: saysBroken},
		{name: "cut off once", answers: always(Stream(text), Say("fine")), tries: 2, want: "fine", stays: true},
		{name: "no JSON in the middle", answers: always(Stream(text, Raw("event: content_block_delta\ndata: {nonsense\n\n"), end, End())), tries: 5, want: saysBroken},
		{name: "JSON cut short", answers: always(Status(200, `{malformed json: <<<`)), tries: 5, want: saysBroken},
		{name: "a page", answers: always(Status(200, "<html>Welcome</html>")), tries: 1, want: saysNoService},
		{name: "nothing", answers: always(Stream()), tries: 1, want: saysNoService},
		{name: "an endless answer", answers: always(Stream(slices.Repeat([]Event{Text(strings.Repeat("la ", 9999))}, 50)...)), tries: 1, want: saysTooLarge},
		{name: "characters and lines split over packets", answers: always(ByteByByte(Text("héllo €🎉"), end, End())), tries: 1, want: "héllo €🎉", stays: true},
		{name: "halves of characters", answers: always(Altered(strings.NewReplacer("~", `\ud83c`, "^", `\udf89`).Replace, Text("a~"), Text("^b"), end, End())), tries: 1, want: "a🎉b", stays: true},
		{name: "CRLF", answers: always(Altered(func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }, Text("fine"), end, End())), tries: 1, want: "fine", stays: true},
		{name: "no space behind data:", answers: always(Altered(func(s string) string { return strings.ReplaceAll(s, "data: ", "data:") }, Text("fine"), end, End())), tries: 1, want: "fine", stays: true},
		{name: "comments between", answers: always(Stream(Raw(": hello\n\n"), Text("fi"), Ping(), Text("ne"), end, End())), tries: 1, want: "fine", stays: true},
		{name: "no end mark, but a reason", answers: always(Stream(Text("fine"), end)), tries: 1, want: "fine", stays: true},
		{name: "no reason, but an end mark", answers: always(Stream(Text("fine"), End())), tries: 1, want: "fine", stays: true},
		{name: "a whole answer in place of a stream", answers: always(Whole("fine")), tries: 1, want: "fine", stays: true},

		// The answer.
		{name: "B397 the token limit", answers: always(Stream(text, Finish("length"), End())), tries: 1, want: "half an (truncated)", stays: true},
		{name: "empty choices", answers: always(Stream(Empty(), end, End())), tries: 1, want: saysNothing, stays: true},
		{name: "calls announced, none made", answers: always(Stream(Finish("tools"), End())), tries: 5, want: saysBroken},
		{name: "an unknown tool", answers: always(Stream(call("a", `{}`), Finish("tools"), End()), Results()), tries: 2, want: "1 results, paired", stays: true},
		{name: "arguments that are no JSON", answers: always(Stream(call("a", `{"n":`), Finish("tools"), End()), Results()), tries: 2, want: "1 results, paired", stays: true},
		{name: "B391 ids that others refuse", answers: always(Stream(call("functions.Bash:0", `{}`), Finish("tools"), End()), Results()), tries: 2, want: "1 results, paired", stays: true},
		{name: "equal ids", answers: always(Stream(call("a", `{}`), Call(1, "a", "other", `{}`), Finish("tools"), End()), Results()), tries: 2, want: "2 results, paired", stays: true},
		{name: "no ids", answers: always(Stream(call("", `{}`), Call(1, "", "other", `{}`), Finish("tools"), End()), Results()), tries: 2, want: "2 results, paired", stays: true},
		{name: "interleaved calls", answers: always(Stream(call("a", `{"n"`), Call(1, "b", "other", `{`), Args(0, `:1}`), Args(1, `}`), Finish("tools"), End()), Results()), tries: 2, want: "2 results, paired", stays: true},
	})
}

// TestEveryFaultOfAModel: each fault has its right end and its right words, in
// both protocols, alone and with another model behind it.
func TestEveryFaultOfAModel(t *testing.T) {
	rows := faults()
	require.GreaterOrEqual(t, len(rows), 24)
	for i, p := range []Protocol{OpenAI, Anthropic} {
		for j, f := range rows {
			if !bothProtocols && j%2 != i {
				continue // the other protocol has this one in a quick run
			}
			t.Run(string(p)+" "+f.name, func(t *testing.T) {
				t.Parallel()
				f.alone(t, p)
				f.withFallback(t, p)
			})
		}
	}
}

// waiting lets time pass for a turn that waits for its model, and for nothing
// else.
func (s *scene) waiting() {
	if n, _ := s.work.State(); n == 1 {
		s.clock.AdvanceTo(s.clock.Now().Add(10 * time.Second))
	}
}

// scene is a runtime whose model x/a is at fault.
func (f fault) scene(t *testing.T, p Protocol, fallbacks string) (*scene, *Server) {
	t.Helper()
	service := New()
	s := prepareScene(t, fmt.Sprintf(`{
  models: { providers: { x: { type: %q, baseUrl: %q, apiKey: "k" } } },
  agents: { defaults: { model: "x/a", fallbacks: [%s] } } }`, p, p.Base(service), fallbacks), "")
	t.Cleanup(service.Close)
	service.On("a", f.answers(s)...)
	service.On("b", Say("from b"))
	s.start()
	return s, service
}

func (f fault) alone(t *testing.T, p Protocol) {
	t.Helper()
	s, service := f.scene(t, p, "")
	began := s.clock.Now()
	s.say("team", "hello")
	settled := func() bool { // what was written of an answer stands until the end
		told := s.told("team")
		return len(told) > 0 && (told[0] != "half" || f.want == "half")
	}
	for limit := began.Add(time.Hour); !settled() && s.clock.Now().Before(limit); {
		s.pass(500 * time.Millisecond)
	}
	require.Equal(t, []string{f.want}, s.told("team"))
	if f.within > 0 {
		require.LessOrEqual(t, s.clock.Now().Sub(began), f.within)
	}
	if asked := service.Asked(); f.tries > 0 {
		require.Equal(t, slices.Repeat([]string{"a"}, f.tries), asked)
	}
	service.On("a", Say("again"))
	s.say("team", "hello again")
	s.pass(time.Hour)
	require.Equal(t, []string{f.want, "again"}, s.told("team"), "the next message is answered")
	s.stop()
}

func (f fault) withFallback(t *testing.T, p Protocol) {
	t.Helper()
	s, service := f.scene(t, p, `"x/b"`)
	s.say("team", "hello")
	s.pass(time.Hour)
	want := "from b"
	if f.stays {
		want = f.want
	}
	require.Equal(t, []string{want}, s.told("team"))
	require.Equal(t, !f.stays, slices.Contains(service.Asked(), "b"))
	s.stop()
}

// TestNoConnection: a port that nobody listens at.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	for _, p := range []Protocol{OpenAI, Anthropic} {
		f := fault{answers: always(Say("never"))}
		s, service := f.scene(t, p, "")
		service.Close()
		s.say("team", "hello")
		s.pass(time.Minute)
		require.Equal(t, []string{saysUnreached}, s.told("team"))
		s.stop()
	}
}

// TestB409ALongWaitIsNotWaitedForTwice: a wait over the bound goes to the next
// model at once, and the model is left alone for as long as its service said,
// over messages; B399, B401: the limit of one model is that of no other.
func TestB409ALongWaitIsNotWaitedForTwice(t *testing.T) {
	t.Parallel()
	for _, p := range []Protocol{OpenAI, Anthropic} {
		f := fault{answers: always(Refuse(429, "rate_limit_error", "usage limit", "Retry-After", "1800"))}
		s, service := f.scene(t, p, `"x/b"`)
		s.say("team", "one")
		require.Equal(t, []string{"from b"}, s.told("team"), "at once")
		require.Equal(t, []string{"a", "b"}, service.Asked())
		s.say("team", "two")
		require.Equal(t, []string{"b"}, service.Asked(), "the same credential, another model")
		s.pass(29 * time.Minute)
		s.say("team", "three")
		require.Equal(t, []string{"b"}, service.Asked())
		s.pass(2 * time.Minute)
		service.On("a", Say("from a"))
		s.say("team", "four")
		require.Equal(t, []string{"a"}, service.Asked(), "when the wait is over")
		require.Equal(t, []string{"from b", "from b", "from b", "from a"}, s.told("team"))
		s.stop()
	}
}

// TestALimitIsThatOfACredential: two names of one key at one place share a
// limit; another key does not.
func TestALimitIsThatOfACredential(t *testing.T) {
	t.Parallel()
	service := New()
	s := prepareScene(t, fmt.Sprintf(`{
  models: { providers: {
    x: { type: "openai", baseUrl: %[1]q, apiKey: "k" }, y: { type: "openai", baseUrl: %[1]q, apiKey: "k" },
    z: { type: "openai", baseUrl: %[1]q, apiKey: "other" } } },
  agents: { defaults: { model: "x/a", fallbacks: ["y/a", "z/a"] } } }`, OpenAI.Base(service)), "")
	t.Cleanup(service.Close)
	service.On("a", Refuse(429, "rate_limit_error", "usage limit", "Retry-After", "1800"), Say("with the other key"))
	s.start()
	s.say("team", "one")
	require.Equal(t, []string{"with the other key"}, s.told("team"))
	var keys []string
	for _, r := range service.Take() {
		keys = append(keys, r.Header.Get("Authorization"))
	}
	require.Equal(t, []string{"Bearer k", "Bearer other"}, keys)
	s.stop()
}

// TestEveryFaultIsInTheManual: what people read is what docs/models.md says.
func TestEveryFaultIsInTheManual(t *testing.T) {
	manual, err := os.ReadFile("../../docs/models.md")
	require.NoError(t, err)
	for _, f := range append(faults(), fault{want: saysUnreached}) {
		if why, failed := strings.CutPrefix(f.want, failedPrefix); failed {
			why = strings.Replace(why, "status 502", "status 500", 1)
			require.Contains(t, string(manual), "| "+why+" |", f.name)
		}
	}
}

// TestAModelThatIsNotConfigured: the person reads which, not that a call
// failed.
func TestAModelThatIsNotConfigured(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{ agents: { defaults: { model: "" } } }`, "")
	s.say("team", "hello")
	s.pass(time.Minute)
	require.Equal(t, []string{"This did not work: no model is configured (set agents.defaults.model to <provider>/<model id>)."}, s.told("team"))
	s.stop()
}
