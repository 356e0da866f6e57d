package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAModelThatFailsIsReplaced: the fallbacks are asked in order, the model
// that failed is asked last for a while, and first again after it.
func TestAModelThatFailsIsReplaced(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		body    string
		first   []string // the models that are asked for the first message
		second  []string // for the second one, at once
		third   []string // for the third one, later
		answers []string
	}{
		{
			"overloaded", http.StatusServiceUnavailable, `{"error":{"message":"busy"}}`,
			[]string{"a", "a", "a", "a", "a", "b"},
			[]string{"b"},
			[]string{"a", "a", "a", "a", "a", "b"},
			[]string{"from b", "from b", "from b"},
		},
		{
			"a key that is refused", http.StatusUnauthorized, `{"error":{"message":"no"}}`,
			[]string{"a", "b"},
			[]string{"b"},
			[]string{"a", "b"},
			[]string{"from b", "from b", "from b"},
		},
		{
			"a model that is gone", http.StatusNotFound, `{"error":{"message":"no such model"}}`,
			[]string{"a", "b"},
			[]string{"b"},
			[]string{"a", "b"},
			[]string{"from b", "from b", "from b"},
		},
		{
			"a refusal", http.StatusBadRequest, `{"error":{"message":"blocked","code":"content_filter"}}`,
			[]string{"a"},
			[]string{"a"},
			[]string{"a"},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeak(t)
			var mu sync.Mutex
			var asked []string
			take := func() []string {
				mu.Lock()
				defer mu.Unlock()
				got := asked
				asked = nil
				return got
			}
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var req struct{ Model string }
				if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				mu.Lock()
				asked = append(asked, req.Model)
				mu.Unlock()
				if req.Model == "a" {
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
					return
				}
				_, _ = io.WriteString(w, sse(content("from "+req.Model), finished, end))
			}))
			defer service.Close()
			s := newScene(t, `{
  models: { providers: { x: { type: "openai", baseUrl: "`+service.URL+`", apiKey: "k" } } },
  agents: { defaults: { model: "x/a", fallbacks: ["x/b", "x/c"] } } }`, "")
			s.say("team", "one")
			s.pass(20 * time.Second)
			require.Equal(t, c.first, take())
			s.say("team", "two")
			s.pass(time.Second)
			require.Equal(t, c.second, take())
			s.pass(10 * time.Minute)
			s.say("team", "three")
			s.pass(20 * time.Second)
			require.Equal(t, c.third, take())
			if c.answers == nil {
				require.Len(t, s.told("team"), 3, "the person is told each time")
			} else {
				require.Equal(t, c.answers, s.told("team"))
			}
			s.stop()
		})
	}
}
