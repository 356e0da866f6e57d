package words

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words/internal/catalogue"
)

func language(t require.TestingT, tag string) Language {
	l, err := Find(tag)
	require.NoError(t, err)
	return l
}

// TestTablesAreThoseOfTheFiles: what the program says is what the files say,
// so the checks of catalogue.Load hold for it: the same texts in all languages,
// with the same placeholders, none of them empty or left in English.
func TestTablesAreThoseOfTheFiles(t *testing.T) {
	all, err := catalogue.Load(os.DirFS("texts"))
	require.NoError(t, err)
	require.Len(t, all, len(Shipped()))
	for i, c := range all {
		l := Shipped()[i]
		require.Equal(t, c.Tag, l.Tag())
		require.Equal(t, c.Name, l.Name())
		require.Len(t, c.Texts, size)
		written := map[text]int{}
		for _, text := range l.table().texts {
			written[text]++
		}
		for key, t2 := range c.Texts {
			want := text{other: t2.Other, one: t2.One, few: t2.Few, many: t2.Many, remedy: t2.Remedy}
			require.Positive(t, written[want], "%s of %s is stale: go generate ./core/words", key, c.Tag)
			written[want]--
		}
	}
}

func TestFind(t *testing.T) {
	for tag, want := range map[string]string{
		"en": "en", "de": "de", "es": "es", "DE": "de", "de-DE": "de", "de-AT": "de", "es-419": "es", "en-GB-oxendict": "en", "de-Latn-CH-1996": "de",
	} {
		l, err := Find(tag)
		require.NoError(t, err, tag)
		require.Equal(t, want, l.Tag(), tag)
	}
	for _, tag := range []string{"", "tlh", "deutsch", "de_DE", "d", "-de", "de-", "de--DE", " de", "de-überlang", "languages-de", strings.Repeat("x", 500)} {
		l, err := Find(tag)
		require.Equal(t, "language_unknown", core.ErrorCode(err), tag)
		require.ErrorContains(t, err, "shipped: en (English), de (Deutsch), es (Español)")
		require.Equal(t, Language{}, l)
	}
	require.Equal(t, "en", Language{}.Tag(), "the zero value is English")
	require.Equal(t, []string{"en", "de", "es"}, Tags())
}

func FuzzFind(f *testing.F) {
	for _, seed := range []string{"de", "de-DE", "es-419", "", "-", "de_DE", "en-\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		l, err := Find(tag)
		if err != nil {
			require.Equal(t, "language_unknown", core.ErrorCode(err))
			return
		}
		require.True(t, strings.EqualFold(tag, l.Tag()) || strings.EqualFold(tag[:len(l.Tag())+1], l.Tag()+"-"), tag)
	})
}

func TestPlurals(t *testing.T) {
	tests := map[string]struct {
		rule func(int) form
		want map[form][]int
	}{
		"none":        {pluralNone, map[form][]int{formOther: {0, 1, 2, 5, 1_000_000}}},
		"one":         {pluralOne, map[form][]int{formOne: {1}, formOther: {0, 2, 11, 21, 101, 1_000_000}}},
		"one-million": {pluralOneMillion, map[form][]int{formOne: {1}, formMany: {1_000_000, 3_000_000}, formOther: {0, 2, 21, 1_000_001}}},
		"zero-one":    {pluralZeroOne, map[form][]int{formOne: {0, 1}, formMany: {2_000_000}, formOther: {2, 21, 101}}},
		"slavic":      {pluralSlavic, map[form][]int{formOne: {1, 21, 101}, formFew: {2, 4, 22, 104}, formMany: {0, 5, 11, 12, 14, 111, 112}}},
	}
	require.Len(t, tests, len(catalogue.Rules()))
	for name, tt := range tests {
		require.Contains(t, catalogue.Rules(), name)
		for want, numbers := range tt.want {
			for _, n := range numbers {
				require.Equal(t, want, tt.rule(n), "%s of %d", name, n)
			}
		}
	}
	require.Equal(t, "1 Tag", language(t, "de").UnitDay(1))
	require.Equal(t, "0 Tage", language(t, "de").UnitDay(0))
	require.Equal(t, "1 día", language(t, "es").UnitDay(1))
	require.Equal(t, "1000000 días", language(t, "es").UnitDay(1_000_000), "a form that is left out is the general one")
}

func TestDurations(t *testing.T) {
	const h = time.Hour
	tests := []struct {
		d          time.Duration
		en, de, es string
	}{
		{45 * time.Minute, "45m", "45 min", "45 min"},
		{2*h + 30*time.Minute, "2h 30m", "2 h 30 min", "2 h 30 min"},
		{72 * h, "3d", "3 Tage", "3 días"},
		{24 * h, "1d", "1 Tag", "1 día"},
		{36 * h, "1d 12h", "1 Tag 12 h", "1 día 12 h"},
		{90 * time.Second, "1m 30s", "1 min 30 s", "1 min 30 s"},
		{0, "0s", "0 s", "0 s"},
		{-h, "0s", "0 s", "0 s"},
		{time.Millisecond, "1s", "1 s", "1 s"},
		{time.Minute + 1, "1m 1s", "1 min 1 s", "1 min 1 s"},
		{24*h + time.Second, "1d 1s", "1 Tag 1 s", "1 día 1 s"},
		{1<<63 - 1, "106751d 23h 47m 16s", "106751 Tage 23 h 47 min 16 s", "106751 días 23 h 47 min 16 s"},
	}
	for _, tt := range tests {
		require.Equal(t, []string{tt.en, tt.de, tt.es}, each(func(l Language) string { return l.Duration(tt.d) }))
	}
}

func each(say func(l Language) string) []string {
	var out []string
	for _, l := range Shipped() {
		out = append(out, say(l))
	}
	return out
}

func TestAges(t *testing.T) {
	for d, want := range map[time.Duration]string{
		12*time.Second + 900*time.Millisecond: "12s", 59*time.Minute + 59*time.Second: "59m", 2*time.Hour + 30*time.Minute + 59*time.Second: "2h 30m",
		3 * time.Hour: "3h", 27*time.Hour + 59*time.Minute: "1d 3h", 72*time.Hour + 59*time.Minute: "3d", 0: "0s", -time.Hour: "0s",
	} {
		require.Equal(t, want, Language{}.age(d), d)
	}
}

func TestUntil(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	const h = time.Hour
	for d, want := range map[time.Duration]string{
		24 * h: "1d", 24*h - time.Millisecond: "1d", 25*h - time.Minute: "1d 1h", 3*h - time.Second: "3h",
		59*time.Minute + 30*time.Second: "59m 30s", 0: "0s", -1: "0s",
	} {
		require.Equal(t, want, Language{}.Duration(Until(now, now.Add(d))), d)
	}
}

func TestForms(t *testing.T) {
	at := time.Date(2023, 11, 4, 9, 5, 7, 0, time.FixedZone("XST", 3600))
	require.Equal(t, []string{"2023-11-04 09:05 XST", "04.11.2023, 09:05 XST", "04/11/2023 09:05 XST"},
		each(func(l Language) string { return l.form("time", at) }))
	require.Equal(t, []string{"2023-11-04 09:05:07 XST", "04.11.2023, 09:05:07 XST", "04/11/2023 09:05:07 XST"},
		each(func(l Language) string { return l.form("moment", at) }))
	require.Equal(t, []string{"a, and b, and c", "a, b und c", "a, b y c"}, each(func(l Language) string { return l.form("and", []string{"a", "b", "c"}) }))
	require.Equal(t, []string{"a", "a", "a"}, each(func(l Language) string { return l.form("and", []string{"a"}) }))
	require.Equal(t, []string{"", "", ""}, each(func(l Language) string { return l.form("list", []string(nil)) }))
	require.Equal(t, []string{"a, b, c", "a, b, c", "a, b, c"}, each(func(l Language) string { return l.form("list", []string{"a", "b", "c"}) }))
	require.Equal(t, []string{`"a\"b\n"`, `„a"b\n“`, `«a"b\n»`}, each(func(l Language) string { return l.form("quoted", "a\"b\n") }))
	require.Equal(t, "{ {x} {", Language{}.fill("{{ {a} {{", []arg{{"a", "{x}"}}))
}

// TestArgumentsAreNotRead: what people and platforms name things is put in as
// it is, however much it looks like a placeholder, and exactly once.
func TestArgumentsAreNotRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hostile := rapid.OneOf(rapid.String(), rapid.StringMatching(`[{}:a-z%s$*_<>&"@]{0,40}`),
			rapid.SampledFrom([]string{"{name}", "{{", "}", "{why}", "%s%d%!", "**x**", "<@&1>", "@everyone", "{name:duration}", "\x00"}))
		name, why := hostile.Draw(t, "name"), hostile.Draw(t, "why")
		require.Equal(t, name+" is not listening here any more: "+why+".", Language{}.BindingOver(name, why))
		require.Equal(t, name+" hört hier nicht mehr zu: "+why+".", language(t, "de").BindingOver(name, why))
		require.Equal(t, name+" ya no escucha aquí: "+why+".", language(t, "es").BindingOver(name, why))
	})
}

func FuzzFill(f *testing.F) {
	f.Add("{a} and {b:quoted}", "{b}")
	f.Add("{{a} {", "x")
	f.Add("{a", "}")
	f.Fuzz(func(t *testing.T, wording, value string) {
		got := Language{}.fill(wording, []arg{{"a", value}})
		if !strings.Contains(wording, "{") {
			require.Equal(t, wording, got)
		}
		if strings.Count(wording, "{a}") == 1 && !strings.Contains(wording, "{{") && strings.Count(wording, "{") == 1 {
			require.Equal(t, strings.Replace(wording, "{a}", value, 1), got)
		}
	})
}

func TestRefusals(t *testing.T) {
	err := RefuseQuota("quota", 3, 5)
	require.EqualError(t, err, "you have 3 of at most 5 live bindings (/unfocus one that you no longer need)", "models and logs read English")
	require.Equal(t, "quota", err.Code)
	err.Err = errors.New("a cause")
	require.Equal(t, "you have 3 of at most 5 live bindings (/unfocus one that you no longer need) [quota]", Language{}.Refusal(err))
	require.Equal(t, "du hast 3 von höchstens 5 laufenden Bindungen (beende mit /unfocus eine, die du nicht mehr brauchst) [quota]",
		language(t, "de").Refusal(errors.Join(errors.New("around"), err)))

	other := core.Errorf("hook_veto", "the extension says no")
	require.Equal(t, "the extension says no [hook_veto]", language(t, "de").Refusal(other), "not of the catalogue")
	require.Equal(t, "text (try again) [quota]", language(t, "es").Refusal(&core.Error{Code: "quota", Text: "text", Remedy: "try again"}))
	err = RefuseQuota("quota", 3, 5).WithRemedy("do something else")
	require.Contains(t, language(t, "es").Refusal(err), "(do something else)", "another remedy is another wording")
	require.Equal(t, "plain", language(t, "es").Refusal(errors.New("plain")))
}

func TestRecall(t *testing.T) {
	de := language(t, "de")
	tests := map[string]string{
		English().DetailModelRateLimitedFor(150 * time.Second): "das Modell hat nicht geantwortet: es nimmt 2 min 30 s lang keine Anfragen mehr an; versuch es danach noch einmal",
		Language{}.DetailStepLimit(50):                         de.DetailStepLimit(50),
		Language{}.DetailAgentGone("a\"{b}"):                   de.DetailAgentGone("a\"{b}"),
		RefuseQuota("quota", 3, 5).Error():                     "du hast 3 von höchstens 5 laufenden Bindungen (beende mit /unfocus eine, die du nicht mehr brauchst)",
		// one name twice
		RefuseCredentialMissing("x", "main", "y").Error(): "der Agent main hat keine eigenen Zugangsdaten für y und darf die gemeinsamen nicht verwenden" +
			" (ein Betreiber setzt agents.entries.main.auth.providers.y.apiKey oder auth.mode \"overlay\")",
		RefuseThreadTimeout("x", 150*time.Minute).Error():              "der Kanal hat nicht rechtzeitig einen Thread geöffnet (Frist: 2 h 30 min) (versuch es noch einmal, oder arbeite ohne Thread)",
		"it was stopped after many steps without an answer (maxSteps)": "it was stopped after many steps without an answer (maxSteps)",
		"the extension said {limit}":                                   "the extension said {limit}",
		"":                                                             "",
	}
	for english, want := range tests {
		require.Equal(t, want, de.Recall(english))
		require.Equal(t, english, Language{}.Recall(english))
	}
	require.NotEqual(t, Language{}.DetailStepLimit(50), de.DetailStepLimit(50))
}

// TestEveryDetailIsRecalled: of whatever is put into a detail, its wording in
// another language is found again.
func TestEveryDetailIsRecalled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := key(rapid.IntRange(0, size-1).Draw(t, "key"))
		if !recallable(k) {
			return
		}
		var args []arg
		for _, p := range split(english().texts[k].other) {
			switch p.kind {
			case "int":
				args = append(args, arg{p.name, rapid.Int().Draw(t, p.name)})
			case "count":
				args = append(args, arg{p.name, count(rapid.IntRange(0, 9).Draw(t, p.name))})
			case "duration", "age":
				args = append(args, arg{p.name, time.Duration(rapid.IntRange(0, 1e6).Draw(t, p.name)) * time.Second})
			case "detail":
				args = append(args, arg{p.name, rapid.SampledFrom([]string{English().DetailModelSilent(), "boom", English().DetailModelTrouble(500)}).Draw(t, p.name)})
			default:
				if p.name != "" {
					args = append(args, arg{p.name, rapid.StringMatching(`[a-z{}" ]{1,20}`).Draw(t, p.name)})
				}
			}
		}
		for _, l := range Shipped() {
			require.Equal(t, l.say(k, args...), l.Recall(Language{}.say(k, args...)))
		}
	})
}

func FuzzRecall(f *testing.F) {
	f.Add("it was stopped after 50 steps without an answer (maxSteps)")
	f.Add(`the agent "x" is not configured any more`)
	f.Add(RefuseThreadUseless("x", "a:b:c").Error())
	f.Fuzz(func(t *testing.T, detail string) {
		for _, l := range Shipped() {
			if detail != "" {
				require.NotEmpty(t, l.Recall(detail))
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	for b.Loop() {
		_ = Language{1}.BindingOver("name", "why")
	}
}

func BenchmarkRecall(b *testing.B) {
	detail := Language{}.DetailStepLimit(50)
	for b.Loop() {
		_ = Language{1}.Recall(detail)
	}
}
