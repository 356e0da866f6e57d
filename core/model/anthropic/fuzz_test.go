package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/anthropic"
)

// FuzzStream feeds whatever a server might send: the answer is a valid item or
// a typed error.
func FuzzStream(f *testing.F) {
	f.Add(start + text("a") + stop("end_turn") + end)
	f.Add(begin(0, `{"type":"tool_use","id":"a","name":"x","input":[null]}`) + args(0, `{"n":`) + stop("max_tokens"))
	f.Add(event(`{"type":"error","error":{"message":["x"]}}`))
	f.Add(": c\r\n\r\nevent: message_delta\ndata: null\n\n" + ping)
	f.Fuzz(func(t *testing.T, body string) {
		answer := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
		})
		p, err := anthropic.New(anthropic.Config{Transport: answer, Clock: clock.Real{}})
		require.NoError(t, err)
		got, _, err := model.Collect(t.Context(), clock.Real{}, p, model.Request{}, model.Options{})
		if err != nil {
			var e *model.Error
			require.ErrorAs(t, err, &e)
			return
		}
		require.NoError(t, model.Validate(model.Repair([]model.Item{got})))
		_, err = json.Marshal(got)
		require.NoError(t, err)
	})
}
