package catalogue_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/core/words/internal/catalogue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const english = `{"language": "English", "plural": "one", "texts": {
	"a.b": "{name} has {n:int}", "a.c": {"one": "1 day", "other": "{n:count} days"}, "refuse.x": {"text": "no", "remedy": "yes"}}}`

// TestLoadFindsWhatIsWrong: each file is wrong in one way, and the error says
// where and what.
func TestLoadFindsWhatIsWrong(t *testing.T) {
	tests := map[string]struct{ file, src, want string }{
		"right":          {"de", german(`"a.b": "{n:int} hat {name}"`), ""},
		"missing":        {"de", `{"language": "Deutsch", "plural": "one", "texts": {}}`, `de.json: a.b: is missing; in English: "{name} has {n:int}"`},
		"unknown":        {"de", german(`"a.b": "{name} {n:int}", "a.d": "x"`), "de.json: a.d: English does not have it"},
		"empty":          {"de", german(`"a.b": " "`), `de.json: a.b: the form "other" is empty`},
		"english":        {"de", german(`"a.b": "{name} has {n:int}"`), "equals the English text"},
		"placeholder":    {"de", german(`"a.b": "{name}"`), "de.json: a.b: the placeholders are [{name string}], in English [{n int} {name string}]"},
		"other type":     {"de", german(`"a.b": "{name:int} {n:int}"`), "the placeholders are [{n int} {name int}]"},
		"two types":      {"de", german(`"a.b": "{name} {n:int} {n}"`), "{n} is of another type elsewhere in this text"},
		"no kind":        {"de", german(`"a.b": "{name:shout} {n:int}"`), `there is no kind "shout"`},
		"open brace":     {"de", german(`"a.b": "{name} {n:int} {"`), "a brace alone is written {{"},
		"odd brace":      {"de", german(`"a.b": "{name} {n:int} {a b}"`), "{a b is no placeholder"},
		"twice":          {"de", german(`"a.b": "{name} {n:int}", "a.b": "{n:int} {name}"`), `"a.b" stands there twice`},
		"form":           {"de", german(`"a.b": {"two": "{name} {n:int}"}`), `"two" is no part of a text`},
		"no plural":      {"de", german(`"a.b": {"one": "{name} {n:int}", "other": "{name}, {n:int}"}`), "plural forms need a {name:count}"},
		"no remedy":      {"de", german(`"a.b": {"text": "{name} {n:int}", "remedy": "x"}`), "text and remedy belong to a name that begins with refuse."},
		"rule":           {"de", `{"language": "Deutsch", "plural": "many", "texts": {}}`, `there is no rule "many"; there are none, one, one-million, slavic, zero-one`},
		"name":           {"de", `{"plural": "one", "texts": {}}`, "say what the language calls itself"},
		"field":          {"de", `{"lang": "Deutsch"}`, "de.json: json: unknown field"},
		"no json":        {"de", `{`, "de.json: unexpected EOF"},
		"no base":        {"en", `{`, "en.json is missing or broken"},
		"form missing":   {"ru", `{"language": "Русский", "plural": "slavic", "texts": {"a.c": {"one": "{n:count} день", "other": "{n:count} дня"}}}`, `ru.json: a.c: the plural form "few" is missing`},
		"same, no text":  {"de", `{"language": "Deutsch", "plural": "one", "same": ["a.x"], "texts": {}}`, `same: "a.x" is no text`},
		"same, not same": {"de", `{"language": "Deutsch", "plural": "one", "same": ["a.b"], "texts": {"a.b": "{n:int} {name}"}}`, `is listed under "same", but differs`},
		"key":            {"en", `{"language": "English", "plural": "one", "texts": {"Ab": "x"}}`, "the name is not of the form room.text"},
		"empty remedy":   {"en", `{"language": "English", "plural": "one", "texts": {"refuse.x": {"text": "x", "remedy": ""}}}`, `the form "remedy" is empty`},
		"counted no":     {"en", `{"language": "English", "plural": "one", "texts": {"refuse.x": {"text": "x {n:count}", "remedy": "y"}}}`, "a refusal has no plural forms"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"en.json": {Data: []byte(english)}, tt.file + ".json": {Data: []byte(tt.src)}}
			all, err := catalogue.Load(files)
			if tt.want != "" {
				require.ErrorContains(t, err, tt.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"en", "de"}, []string{all[0].Tag, all[1].Tag})
		})
	}
}

// german is a catalogue that is right but for a.b.
func german(ab string) string {
	return `{"language": "Deutsch", "plural": "one", "texts": {` + ab +
		`, "a.c": {"one": "1 Tag", "other": "{n:count} Tage"}, "refuse.x": {"text": "nein", "remedy": "doch"}}}`
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(english))
	f.Add([]byte(german(`"a.b": "{n:int} hat {name}"`)))
	f.Add([]byte(`{"texts": {"a.b": [1, {"x": {}}]}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		all, err := catalogue.Load(fstest.MapFS{"en.json": {Data: src}})
		if err != nil {
			return
		}
		for key, text := range all[0].Texts {
			_, err := text.Params()
			require.NoError(t, err, key)
		}
	})
}
