package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/openai"
)

// FuzzStream feeds whatever a server might send: the answer is a valid item or
// a typed error.
func FuzzStream(f *testing.F) {
	f.Add(text("a") + finish("stop") + usage + end)
	f.Add(fragments(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":"}},{"function":{}}`) + finish("length"))
	f.Add(event(`{"error":{"message":["x"],"code":429}}`))
	f.Add("{\"error\":\n\"x\"}")
	f.Add(": c\r\n\r\ndata:\r\ndata: null\n\ndata: [DONE]")
	f.Fuzz(func(t *testing.T, body string) {
		answer := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
		})
		p, err := openai.New(openai.Config{Transport: answer, Clock: clock.Real{}})
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
