package script_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/convtest/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// one parses a script of one line, with files that lines may name.
func one(line string) (script.Statement, error) {
	s, err := script.Parse("t.txtar", []byte(line+"\n-- skein.json5 --\n{}\n-- up/date.json --\n{}\n"))
	if err != nil {
		return nil, err
	}
	return s.Lines[0].Do, nil
}

func at(channel, conversation, thread string) script.At {
	return script.At{Place: script.Place{Channel: channel, Conversation: conversation, Thread: thread}}
}

func by(name string) script.By { return script.By{User: script.User{Name: name}} }

func TestLines(t *testing.T) {
	main := at("console", "main", "")
	each := script.At{Place: script.Place{Channel: "console", Conversation: "main", Each: true}}
	second := script.At{Place: script.Place{Channel: "telegram", Account: "second", Conversation: "team"}}
	alice := by("alice")
	hello := script.Pattern{Expr: "hello"}
	for line, want := range map[string]script.Statement{
		`alice @ console/main: hello`:                      script.Say{By: alice, At: main, Text: "hello"},
		`alice  @  console/main:   hello: you `:            script.Say{By: alice, At: main, Text: "hello: you"},
		`alice @ telegram:second/team: hi`:                 script.Say{By: alice, At: second, Text: "hi"},
		`alice @ telegram:default/team: hi`:                script.Say{By: alice, At: at("telegram", "team", ""), Text: "hi"},
		`alice @ telegram/dm:alice: hi`:                    script.Say{By: alice, At: at("telegram", "dm:alice", ""), Text: "hi"},
		`alice @ console/main/t1: hi`:                      script.Say{By: alice, At: at("console", "main", "t1"), Text: "hi"},
		`alice @ console/main: a\nb`:                       script.Say{By: alice, At: main, Text: "a\nb"},
		`alice @ console/main: /focus cats`:                script.Say{By: alice, At: main, Text: "/focus cats"},
		`alice @ console/main: !focus cats`:                script.Say{By: alice, At: main, Text: "focus cats", Command: true},
		`alice @ console/main: !! now`:                     script.Say{By: alice, At: main, Text: "!! now"},
		`alice @ console/main: @bot hi`:                    script.Say{By: alice, At: main, Text: "@bot hi"},
		`alice(owner) @ console/main: hi`:                  script.Say{By: script.By{User: script.User{Name: "alice", Owner: true}}, At: main, Text: "hi"},
		`helper(bot) @ console/main: hi`:                   script.Say{By: script.By{User: script.User{Name: "helper", Bot: true}}, At: main, Text: "hi"},
		`zoë @ console/main: hi`:                           script.Say{By: by("zoë"), At: main, Text: "hi"},
		`start @ console/main: hi`:                         script.Say{By: by("start"), At: main, Text: "hi"},
		`alice replies to LAST @ console/main: hi`:         script.Say{By: alice, At: main, Text: "hi", ReplyTo: script.Last},
		`alice replies to BOT @ console/main: !stop`:       script.Say{By: alice, At: main, Text: "stop", Command: true, ReplyTo: script.Bot},
		`alice edits LAST: new: text`:                      script.Edit{By: alice, Target: script.Last, Text: "new: text"},
		`alice edits LAST @ console/main: new`:             script.Edit{By: alice, At: main, Target: script.Last, Text: "new"},
		`alice deletes LAST`:                               script.Delete{By: alice, Target: script.Last},
		`alice deletes LAST @ console/main`:                script.Delete{By: alice, At: main, Target: script.Last},
		`alice reacts BOT 👍`:                               script.React{By: alice, Target: script.Bot, Emoji: "👍"},
		`alice reacts BOT 👍 @ console/main`:                script.React{By: alice, At: main, Target: script.Bot, Emoji: "👍"},
		`alice presses [Yes, do it] @ console/main`:        script.Press{By: alice, At: main, Label: "Yes, do it"},
		`alice sends file skein.json5 @ console/main`:      script.SendFile{By: alice, At: main, File: "skein.json5"},
		`alice sends file up/date.json @ console/main: ha`: script.SendFile{By: alice, At: main, File: "up/date.json", Text: "ha"},
		`alice opens topic "a => b" @ console/main`:        script.OpenTopic{By: alice, At: main, Title: "a => b"},
		`alice opens topic "my \"t\"" @ console/main => T`: script.OpenTopic{By: alice, At: main, Title: `my "t"`, As: "T"},
		`alice opens topic "plans" @ console/main`:         script.OpenTopic{By: alice, At: main, Title: "plans"},

		`console/main < /hello/`:                            script.Next{At: main, Pattern: hello},
		`console/main < /hello/ism`:                         script.Next{At: main, Pattern: script.Pattern{Expr: "hello", Flags: "ism"}},
		`console/main < /a/b/c/i`:                           script.Next{At: main, Pattern: script.Pattern{Expr: "a/b/c", Flags: "i"}},
		`console/main < /a\/b/`:                             script.Next{At: main, Pattern: script.Pattern{Expr: `a\/b`}},
		`console/main < /a => b/`:                           script.Next{At: main, Pattern: script.Pattern{Expr: "a => b"}},
		`console/main < /^$/`:                               script.Next{At: main, Pattern: script.Pattern{Expr: "^$"}},
		`console/main < //`:                                 script.Next{At: main},
		`console/main < /code (\w+)/ => CODE`:               script.Next{At: main, Pattern: script.Pattern{Expr: `code (\w+)`}, As: "CODE"},
		`console/main/* < /hello/ => T`:                     script.Next{At: each, Pattern: hello, As: "T"},
		`console/main/* < /hello/`:                          script.Next{At: each, Pattern: hello},
		`console/main <~ /hello/`:                           script.Some{At: main, Pattern: hello},
		`console/main <~ /(h)/ => H`:                        script.Some{At: main, Pattern: script.Pattern{Expr: "(h)"}, As: "H"},
		`console/main < rest`:                               script.Rest{At: main},
		`console/main/* < rest`:                             script.Rest{At: each},
		`console/main < nothing`:                            script.Nothing{At: main},
		`console/main/* < nothing`:                          script.Nothing{At: each},
		`console/main < 2 messages`:                         script.Count{At: main, N: 2},
		`console/main < 1 message`:                          script.Count{At: main, N: 1},
		`console/main has 3 threads`:                        script.Threads{At: main, N: 3},
		`console/main has 1 thread`:                         script.Threads{At: main, N: 1},
		`telegram:second/team < /hello/`:                    script.Next{At: second, Pattern: hello},
		`advance 25h`:                                       script.Advance{For: 25 * time.Hour},
		`advance 1d`:                                        script.Advance{For: 24 * time.Hour},
		`advance 1d2h30m`:                                   script.Advance{For: 26*time.Hour + 30*time.Minute},
		`advance 1ms`:                                       script.Advance{For: time.Millisecond},
		`idle`:                                              script.Idle{},
		`kill`:                                              script.Kill{},
		`start`:                                             script.Start{},
		`restart`:                                           script.Restart{},
		`crash outbox.after-send`:                           script.Crash{Point: "outbox.after-send"},
		`config skein.json5`:                                script.Config{File: "skein.json5"},
		`config! skein.json5`:                               script.Config{File: "skein.json5", Refused: true},
		`race-kill off it counts calls`:                     script.NoRaceKill{Reason: "it counts calls"},
		`place telegram/team forum`:                         script.SetPlace{At: at("telegram", "team", ""), Kind: "forum"},
		`thread archive console/main/t1`:                    script.Thread{At: at("console", "main", "t1"), Op: "archive"},
		`thread rename console/main/t1`:                     script.Thread{At: at("console", "main", "t1"), Op: "rename", Title: "renamed"},
		`thread rename console/main/t1 "new name"`:          script.Thread{At: at("console", "main", "t1"), Op: "rename", Title: "new name"},
		`thread rename console/main/t1 new name`:            script.Thread{At: at("console", "main", "t1"), Op: "rename", Title: "new name"},
		`migrate telegram/team`:                             script.Migrate{At: at("telegram", "team", "")},
		`kick telegram/team`:                                script.Kick{At: at("telegram", "team", "")},
		`permit telegram/team`:                              script.Permit{At: at("telegram", "team", "")},
		`sent telegram sendMessage /"x":1/`:                 script.Sent{Channel: "telegram", Method: "sendMessage", Pattern: script.Pattern{Expr: `"x":1`}},
		`sent! telegram sendMessage /hello/`:                script.Sent{Channel: "telegram", Method: "sendMessage", Pattern: hello, Not: true},
		`raw telegram up/date.json`:                         script.Raw{Channel: "telegram", File: "up/date.json"},
		`raw telegram:second up/date.json`:                  script.Raw{Channel: "telegram", Account: "second", File: "up/date.json"},
		`fault console send ok-lost`:                        script.Fault{Channel: "console", Method: "send", Kind: "ok-lost", Times: 1},
		`fault console send fail 403 x 3`:                   script.Fault{Channel: "console", Method: "send", Kind: "fail", Status: 403, Times: 3},
		`fault console send retry-after 3s`:                 script.Fault{Channel: "console", Method: "send", Kind: "retry-after", After: 3 * time.Second, Times: 1},
		`fault console poll slow 2s x2`:                     script.Fault{Channel: "console", Method: "poll", Kind: "slow", After: 2 * time.Second, Times: 2},
		`dup telegram`:                                      script.Redeliver{Channel: "telegram"},
		`reorder telegram`:                                  script.Redeliver{Channel: "telegram", Swap: true},
		`$ skein tasks list`:                                script.Command{Args: []string{"tasks", "list"}},
		`$ skein`:                                           script.Command{Args: []string{}},
		`$ skein send --message "a 'b' \" c" 'd "' e\ f ""`: script.Command{Args: []string{"send", "--message", `a 'b' " c`, `d "`, "e f", ""}},
		`> /hello/`:                                         script.Output{Pattern: hello},
		`>! /hello/`:                                        script.Output{Pattern: hello, Not: true},
		`> /^(\w+)/m => ID`:                                 script.Output{Pattern: script.Pattern{Expr: `^(\w+)`, Flags: "m"}, As: "ID"},
		`exit 0`:                                            script.Exit{},
		`exit 2`:                                            script.Exit{Code: 2},
		`model /hello/`:                                     script.ModelSaw{Pattern: hello},
		`model! /hello/`:                                    script.ModelSaw{Pattern: hello, Not: true},
		`model(main) /hello/`:                               script.ModelSaw{Agent: "main", Pattern: hello},
		`model!(main) /hello/`:                              script.ModelSaw{Agent: "main", Pattern: hello, Not: true},
		`model calls 3`:                                     script.ModelCalls{N: 3},
		`model(main) calls 0`:                               script.ModelCalls{Agent: "main"},
		`alice @ console/main: costs $5`:                    script.Say{By: alice, At: main, Text: "costs $5"},
	} {
		got, err := one(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
}

// TestBadLines reads testdata/bad.txt: a line, and under it its error without
// the file and the line itself.
func TestBadLines(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("testdata", "bad.txt"))
	require.NoError(t, err)
	for _, c := range strings.Split(strings.TrimSpace(string(src)), "\n\n") {
		line, want, ok := strings.Cut(c, "\n")
		require.True(t, ok, c)
		_, err := one(line)
		require.Error(t, err, line)
		require.Equal(t, "t.txtar:1: "+want+"\n    "+line, err.Error())
	}
}

func TestEveryBadLineIsReported(t *testing.T) {
	_, err := script.Parse("x.txtar", []byte(`# fine

alice @ console/main hello
idle
  kil
-- ../up --
-- a --
-- a --
`))
	var got []string
	for _, e := range script.Errors(err) {
		got = append(got, fmt.Sprintf("%s %d %s", e.File, e.Line, e.Text))
	}
	require.Equal(t, []string{"x.txtar 0 ", "x.txtar 0 ", "x.txtar 3 alice @ console/main hello", "x.txtar 5 kil"}, got)
	require.Nil(t, script.Errors(os.ErrNotExist))
}

func TestEmptyScript(t *testing.T) {
	_, err := script.Parse("x.txtar", []byte("# nothing\n-- a --\n"))
	require.EqualError(t, err, "x.txtar: expected at least one line before the files, such as `alice @ console/main: hello`")
}

func TestCapturesComeFirst(t *testing.T) {
	_, err := script.Parse("x.txtar", []byte("console/main/$T < /x/\nconsole/main/* < /x/ => T\nconsole/main/$T < /x/\n"))
	require.EqualError(t, err, "x.txtar:1: expected a name that an earlier line captured with => T, found \"$T\"\n    console/main/$T < /x/")
}

func TestScriptKnowsItsParts(t *testing.T) {
	s, err := script.Parse("x.txtar", []byte(`
bob @ telegram/team: hi
fault matrix send ok-lost
alice(owner) @ console/main: hi
console/main/* < /x/ => T
bob(owner) @ console/main/$T: hi
helper(bot) @ telegram/team: hi
idle
bob deletes LAST
-- model.json5 --
{}
`))
	require.NoError(t, err)
	require.Equal(t, []string{"telegram", "matrix", "console"}, s.Channels())
	require.Equal(t, []script.Place{
		at("telegram", "team", "").Place, at("console", "main", "").Place,
		{Channel: "console", Conversation: "main", Each: true}, at("console", "main", "$T").Place,
	}, s.Places())
	require.Equal(t, []script.Person{
		{User: script.User{Name: "bob", Owner: true}, Channels: []string{"telegram", "console"}},
		{User: script.User{Name: "alice", Owner: true}, OwnerFrom: true, Channels: []string{"console"}},
		{User: script.User{Name: "helper", Bot: true}, Channels: []string{"telegram"}},
	}, s.People())
	require.Equal(t, 2, s.Lines[0].No)
	f, ok := s.File("model.json5")
	require.True(t, ok)
	require.Equal(t, "{}\n", string(f.Data))
}

func TestExpand(t *testing.T) {
	lookup := func(r script.Ref) (string, bool) {
		v, ok := map[script.Ref]string{{Name: "T"}: "t1", {ID: "alice"}: "7", {ID: "telegram/team"}: "-100"}[r]
		return v, ok
	}
	for in, want := range map[string]string{
		"$T":                                 "t1",
		"a$T/b":                              "at1/b",
		"$TT $5 $":                           "$TT $5 $",
		"${id:alice} in ${id:telegram/team}": "7 in -100",
		"${id:bob} ${HOME}":                  "${id:bob} ${HOME}",
	} {
		require.Equal(t, want, script.Expand(in, lookup), in)
	}
}

func TestPatternTakesValuesLiterally(t *testing.T) {
	p := script.Pattern{Expr: `^go to $T$`, Flags: "i"}
	re, err := p.Compile(func(r script.Ref) (string, bool) { return "a.b", r.Name == "T" })
	require.NoError(t, err)
	require.True(t, re.MatchString("Go to a.b"))
	require.False(t, re.MatchString("go to axb"))
	require.Equal(t, `/^go to $T$/i`, p.String())
}

func ExampleParse() {
	s, err := script.Parse("hello.txtar", []byte("alice @ console/main: hello\nconsole/main < /ok/\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range s.Lines {
		fmt.Printf("%d %T\n", line.No, line.Do)
	}
	_, err = script.Parse("hello.txtar", []byte("alice @ console/main hello\n"))
	fmt.Println(err)
	// Output:
	// 1 script.Say
	// 2 script.Next
	// hello.txtar:1: expected `place: text`, a space after the colon, found "console/main hello"
	//     alice @ console/main hello
}
