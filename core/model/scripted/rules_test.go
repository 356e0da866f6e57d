package scripted_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model/scripted"
)

func TestBadRules(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"no object", `[]`, "want {rules: [...]}"},
		{"unknown key of the file", `{"rule":[]}`, `unknown field "rule"`},
		{"more after it", `{"rules":[]} {}`, "more after the value"},
		{"unknown key", `{"rules":[{"say":"a"},{"sya":"b"}]}`, `rule 2: unknown field "sya"`},
		{"unknown condition", `{"rules":[{"when":{"users":"/a/"},"say":"a"}]}`, `rule 1: unknown field "users"`},
		{"wrong type", `{"rules":[{"times":"2","say":"a"}]}`, "rule 1: cannot unmarshal string"},
		{"no pattern", `{"rules":[{"when":{"user":"hi"},"say":"a"}]}`, `rule 1: when.user: "hi" is no pattern (write "/hi/")`},
		{"one slash", `{"rules":[{"when":{"event":"/"},"say":"a"}]}`, `rule 1: when.event: "/" is no pattern`},
		{"bad flags", `{"rules":[{"when":{"task":"/a/g"},"say":"a"}]}`, `rule 1: when.task: "/a/g" has unknown flags "g"`},
		{"bad regexp", `{"rules":[{"when":{"result":"/(/"},"say":"a"}]}`, `rule 1: when.result: "/(/" does not compile`},
		{"nothing to do", `{"rules":[{"when":{"user":"/a/"}}]}`, "rule 1: it does nothing"},
		{"bad delay", `{"rules":[{"say":"a","delay":"3"}]}`, `rule 1: delay "3" is no duration`},
		{"negative delay", `{"rules":[{"say":"a","delay":"-3s"}]}`, `rule 1: delay "-3s" is no duration`},
		{"bad failure", `{"rules":[{"fail":"503"}]}`, `rule 1: fail "503" is unknown (one of ["429" "500" "overflow" "drop" "stall"])`},
		{"negative times", `{"rules":[{"say":"a","times":-1}]}`, "rule 1: times -1 is negative"},
		{"negative usage", `{"rules":[{"say":"a","usage":{"in":-1,"out":1}}]}`, "rule 1: usage is negative"},
		{"no tool", `{"rules":[{"call":[{"args":{}}]}]}`, "rule 1: call 1 has no tool"},
		{"args no object", `{"rules":[{"call":[{"tool":"x"},{"tool":"y","args":[1]}]}]}`, "rule 1: call 2: args are no object"},
		{"all at once", `{"rules":[{},{"say":"a"},{}]}`, "rule 3: it does nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules, err := scripted.ParseRules([]byte(c.doc))
			if err == nil {
				_, err = scripted.New(rules, clock.Real{}, scripted.Options{})
			}
			require.ErrorIs(t, err, scripted.ErrBadRules)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte(`{"rules":[{"when":{"user":"/a(b)/is"},"say":"$1","call":[{"tool":"x","args":{"a":["$0"]}}],"delay":"1s"}]}`))
	f.Add([]byte(`{"rules":[{"fail":"drop","times":3}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		rules, err := scripted.ParseRules(doc)
		if err == nil {
			_, err = scripted.New(rules, clock.Real{}, scripted.Options{})
		}
		if err != nil {
			require.ErrorIs(t, err, scripted.ErrBadRules)
		}
	})
}
