package model_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core/model"
)

func TestSurrogates(t *testing.T) {
	for name, events := range map[string][2][]string{
		"a character cut in two":     {{`{"c":"a\ud83c"}`, `{"c":"\udf89b"}`}, {`{"c":"a"}`, `{"c":"\ud83c\udf89b"}`}},
		"upper case":                 {{`{"c":"\uD83C"}`, `{"c":"\uDF89"}`}, {`{"c":""}`, `{"c":"\uD83C\uDF89"}`}},
		"other strings in between":   {{`{"x":"y","c":"\ud83c"}`, `{"x":"y","c":"\udf89"}`}, {`{"x":"y","c":""}`, `{"x":"y","c":"\ud83c\udf89"}`}},
		"whole ones":                 {{`{"c":"\ud83c\udf89"}`, `{"c":"\udf89"}`}, {`{"c":"\ud83c\udf89"}`, `{"c":"\udf89"}`}},
		"a backslash before":         {{`{"c":"\\ud83c"}`, `{"c":"\\udf89"}`}, {`{"c":"\\ud83c"}`, `{"c":"\\udf89"}`}},
		"a quote before":             {{`{"c":"\"\ud83c"}`, `{"c":"\udf89\""}`}, {`{"c":"\""}`, `{"c":"\ud83c\udf89\""}`}},
		"a half in the middle":       {{`{"c":"\ud83cx"}`, `{"c":"x\udf89"}`}, {`{"c":"\ud83cx"}`, `{"c":"x\udf89"}`}},
		"no JSON":                    {{`{"c":"\ud8`, `\ud83c\`}, {`{"c":"\ud8`, `\ud83c\`}},
		"an escape of another plane": {{`{"c":"\u00d8\ud7ff"}`, `{"c":"x"}`}, {`{"c":"\u00d8\ud7ff"}`, `{"c":"x"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			var s model.Surrogates
			for i, event := range events[0] {
				require.Equal(t, events[1][i], string(s.Join([]byte(event))))
			}
		})
	}
}

// TestSurrogatesOfAnyText: a text cut anywhere, as JavaScript cuts and writes
// it, comes out whole.
func TestSurrogatesOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(rapid.StringOf(rapid.RuneFrom([]rune("a\"\\é🎉🧵"))).Draw(t, "text"), "")
		units := utf16.Encode([]rune(text))
		var s model.Surrogates
		got := ""
		for len(units) > 0 {
			n := rapid.IntRange(1, len(units)).Draw(t, "n")
			var piece strings.Builder
			for _, u := range units[:n] {
				fmt.Fprintf(&piece, `\u%04x`, u)
			}
			units = units[n:]
			var event struct{ Text string }
			require.NoError(t, json.Unmarshal(s.Join([]byte(`{"n":"x","text":"`+piece.String()+`"}`)), &event))
			got += event.Text
		}
		require.Equal(t, text, got)
	})
}
