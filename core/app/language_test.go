package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words"
)

// brokenRules are helperRules with a run and a chat whose model fails.
const brokenRules = `
  {when: {user: "/^break$/"}, call: [{tool: "nothing", args: {}}]},` + helperRules + `
  {when: {lastTool: "nothing"}, call: [{tool: "nothing", args: {}}]},`

func inLanguage(tag string) string {
	return fmt.Sprintf(`{ messages: { language: %q }, agents: { defaults: { maxSteps: 3 } }, session: { threadBindings: { idleHours: 2.5, maxAgeHours: 72, defaultSpawnContext: "isolated" } } }`, tag)
}

// TestLanguages: whatever the runtime says to people in a conversation is of
// the configured language, and what models read is English.
func TestLanguages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tag                            string
		intro, help, status, limit     string
		stopped, farewell, failed, bad string
	}{
		{
			tag: "en-GB",
			intro: "helper is here. What you write in this thread goes to it. It leaves after 2h 30m without a message (idle), " +
				"and 3d from now at the latest (max-age). /unfocus ends it.",
			help: "Commands:\n/agents - sub-agents, their threads, and what can be focused\n", status: "Now: idle\n",
			limit:   "Idle limit of helper: 2h 30m. It ends at 2026-03-01 14:30 UTC, in 2h 30m (idle), if nothing moves that.",
			stopped: "The answer in progress is stopped.",
			farewell: "helper is not listening here any more: idle for 2h 30m. Messages here go to this conversation's usual agent. " +
				"/focus helper resumes it within 1h.",
			failed: "This did not work: it was stopped after 3 steps without an answer (maxSteps).",
			bad:    `"soon" is not a duration (write for example 90m, 2h30m, 1d, 24 (hours), or off) [bad_duration]`,
		},
		{
			tag: "de-AT",
			intro: "helper ist hier. Was du in diesem Thread schreibst, geht an helper. Grenzen: 2 h 30 min ohne Nachricht (idle), " +
				"höchstens 3 Tage ab jetzt (max-age). /unfocus beendet das.",
			help: "Befehle:\n/agents - Sub-Agenten, ihre Threads und mögliche Ziele für /focus\n", status: "Jetzt: untätig\n",
			limit: "Leerlaufgrenze (idle) von helper: 2 h 30 min. Ende: 01.03.2026, 14:30 UTC, noch 2 h 30 min (idle), " +
				"wenn nichts dazwischenkommt.",
			stopped: "Die laufende Antwort ist angehalten.",
			farewell: "helper hört hier nicht mehr zu: 2 h 30 min ohne Nachricht. Nachrichten hier gehen an den üblichen Agenten dieser Unterhaltung. " +
				"Mit /focus helper geht es weiter (noch 1 h lang).",
			failed: "Das hat nicht geklappt: es wurde nach 3 Schritten ohne Antwort beendet (maxSteps).",
			bad:    `„soon“ ist keine Dauer (schreib zum Beispiel 90m, 2h30m, 1d, 24 (Stunden) oder off) [bad_duration]`,
		},
		{
			tag: "es-419",
			intro: "helper está aquí. Lo que escribas en este hilo le llega. Se va tras 2 h 30 min sin mensajes (idle) " +
				"y a más tardar en 3 días (max-age). /unfocus lo termina.",
			help: "Comandos:\n/agents - subagentes, sus hilos y a quién se puede traer con /focus\n", status: "Ahora: inactivo\n", //nolint:misspell // Spanish
			limit: "Límite de inactividad (idle) de helper: 2 h 30 min. Termina el 01/03/2026 14:30 UTC, en 2 h 30 min (idle), " +
				"si nada lo cambia.",
			stopped: "La respuesta en curso se detuvo.",
			farewell: "helper ya no escucha aquí: 2 h 30 min sin mensajes. Los mensajes de aquí van al agente habitual de esta conversación. " +
				"/focus helper lo retoma (durante 1 h).",
			failed: "Esto no funcionó: se detuvo tras 3 pasos sin respuesta (maxSteps).",
			bad:    `«soon» no es una duración (escribe por ejemplo 90m, 2h30m, 1d, 24 (horas) u off) [bad_duration]`,
		},
	} {
		t.Run(tt.tag, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, inLanguage(tt.tag), brokenRules)
			s.say("team", "help")
			thread := s.thread("team")
			require.Equal(t, []string{tt.intro, "ready"}, s.told(thread))
			s.say("team", "break")
			s.say("team", "/help")
			s.say("team", "/status")
			s.say(thread, "/session idle")
			s.say(thread, "/session idle soon")
			told := slices.DeleteFunc(s.told("team"), func(text string) bool { return text == "sent" }) // or the outcome came before
			require.Len(t, told, 3)
			require.Equal(t, tt.failed, told[0])
			require.True(t, strings.HasPrefix(told[1], tt.help), told[1])
			require.Contains(t, told[2], tt.status)
			require.Equal(t, []string{tt.limit, tt.bad}, s.told(thread)[2:])
			s.say(thread, "work")
			s.say(thread, "/stop")
			require.Equal(t, tt.stopped, s.told(thread)[len(s.told(thread))-1])
			s.pass(3 * time.Hour)
			require.Equal(t, tt.farewell, s.told(thread)[len(s.told(thread))-1])
		})
	}
}

// TestLanguageIsLive: the next text is in the language of the newest
// configuration, and one that is unknown is refused with those that are
// shipped.
func TestLanguageIsLive(t *testing.T) {
	t.Parallel()
	s := newScene(t, inLanguage("de"), brokenRules)
	s.say("team", "/stop")
	s.reload(inLanguage("es"))
	s.say("team", "/stop")
	s.crash(time.Minute)
	s.say("team", "/stop")
	s.reload(`{}`)
	s.say("team", "/stop")
	require.Equal(t, []string{"Hier läuft nichts.", "Aquí no hay nada en curso.", "Aquí no hay nada en curso.", "Nothing is running here."}, s.told("team"))
}

// TestModelsReadEnglish: a failure that people read in their language is kept
// in English, and so the requester's model reads it.
func TestModelsReadEnglish(t *testing.T) {
	t.Parallel()
	s := newScene(t, inLanguage("de"), `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "fail", label: "broken"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "sent"},
  {when: {event: "/./"}, call: [{tool: "nothing", args: {}}]},
  {when: {task: "/broken/"}, call: [{tool: "nothing", args: {}}]},
  {when: {lastTool: "nothing"}, call: [{tool: "nothing", args: {}}]},`)
	s.say("team", "go")
	s.pass(time.Hour)
	broken := s.run("broken")
	require.Equal(t, core.RunError, broken.Status)
	require.Equal(t, words.English().DetailStepLimit(3), broken.Detail)
	require.Equal(t, broken.Detail, events(s.last(""))[0].Detail)
	require.Contains(t, strings.Join(s.told("team"), "\n"), "broken ist gescheitert: es wurde nach 3 Schritten ohne Antwort beendet (maxSteps).")
}
