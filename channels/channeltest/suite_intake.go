package channeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
)

func testDescribe(r *rig) {
	c := r.adapter.Describe()
	require.Positive(r, c.TextLimit)
	require.Contains(r, []string{"utf16", "bytes", "runes", "graphemes"}, c.TextUnit)
	require.Equal(r, c, r.adapter.Describe(), "constant")
	require.Equal(r, r.server.Channel(), r.factory.Entry.Name)
}

// testIntakeInOrder posts into two conversations at once.
func testIntakeInOrder(r *rig) {
	r.start()
	const each = 20
	var inGroup, inDirect []string
	for i := range each {
		inGroup = append(inGroup, fmt.Sprintf("group %d", i))
		r.say(group(), inGroup[i])
		inDirect = append(inDirect, fmt.Sprintf("direct %d", i))
		r.say(direct(), inDirect[i])
	}
	got := r.inbox.WaitMessages(r, 2*each)
	require.Equal(r, inGroup, texts(where(got, r.server.Address(group()))))
	require.Equal(r, inDirect, texts(where(got, r.server.Address(direct()))))
}

// testIntakeBeforeAcknowledged refuses updates for a while: they come again,
// in order, none is lost, none overtakes.
func testIntakeBeforeAcknowledged(r *rig) {
	refusals := 3
	r.inbox.Refuse(func(d Delivery) error {
		if d.Message != nil && d.Message.Text == "two" && refusals > 0 {
			refusals--
			return errors.New("the disk is full")
		}
		return nil
	})
	r.start()
	for _, text := range []string{"one", "two", "three"} {
		r.say(group(), text)
	}
	r.inbox.Wait(r, "the last", func() bool {
		got := texts(r.inbox.Messages())
		return len(got) > 0 && got[len(got)-1] == "three"
	})
	require.Equal(r, []string{"one", "two", "three"}, texts(r.inbox.Messages()))
	refused := map[string]bool{}
	for _, d := range r.inbox.Deliveries() {
		if d.Failed {
			refused[d.Message.ID] = true
		}
	}
	require.Len(r, refused, 1, "a redelivery has the same id")
}

// testCursorResumes stops and starts the account: what was taken does not come
// again, what was posted meanwhile comes.
func testCursorResumes(r *rig) {
	r.start()
	r.say(group(), "before")
	r.inbox.WaitMessages(r, 1)
	r.restart()
	r.say(group(), "between")
	r.inbox.WaitMessages(r, 2)
	r.stop()
	r.say(group(), "while down")
	r.restart()
	r.say(group(), "after")
	require.Equal(r, []string{"before", "between", "while down", "after"}, texts(r.inbox.WaitMessages(r, 4)))
}

// testSameUpdateFourTimes has the platform deliver one update again and again:
// intake can tell that it is one.
func testSameUpdateFourTimes(r *rig) {
	r.start()
	r.say(group(), "once")
	r.inbox.WaitMessages(r, 1)
	for n := 2; n <= 4; n++ {
		require.NoError(r, r.server.Dup())
		r.inbox.Wait(r, "a duplicate", func() bool { return len(r.inbox.Deliveries()) >= n })
	}
	r.say(group(), "end")
	require.Equal(r, []string{"once", "end"}, texts(r.inbox.WaitMessages(r, 2)))
	require.NoError(r, r.server.Reorder())
	r.say(group(), "really")
	require.Equal(r, []string{"once", "end", "really"}, texts(r.inbox.WaitMessages(r, 3)))
}

// testFiles posts a file: intake learns of it, and an adapter that can fetch
// files gives its content out, again and again, and no file that never was.
func testFiles(r *rig) {
	r.start()
	data := []byte("col1,col2\n\x00\xff")
	_, err := r.server.Post(r.Context(), testserver.Post{
		By: testserver.User{Name: "alice"}, At: group(), Text: "look", File: &testserver.File{Name: "table.csv", Data: data},
	})
	require.NoError(r, err)
	got := r.inbox.WaitMessages(r, 1)[0]
	require.Len(r, got.Attachments, 1)
	file := got.Attachments[0]
	require.Equal(r, "table.csv", file.Name)
	require.NotEmpty(r, file.ID)
	require.Contains(r, []int64{0, int64(len(data))}, file.Size, "0 is unknown")

	fetcher, ok := r.adapter.(core.Fetcher)
	if !ok {
		return
	}
	for range 2 {
		content, err := fetcher.Fetch(r.Context(), got.Address, file)
		require.NoError(r, err)
		fetched, err := io.ReadAll(content)
		require.NoError(r, err)
		require.NoError(r, content.Close())
		require.Equal(r, data, fetched)
	}
	_, err = fetcher.Fetch(r.Context(), got.Address, core.Attachment{ID: "no-such-file", Name: "table.csv"})
	require.Error(r, err)
}

// testPollFailures lets the receiving side fail: Run returns with the class
// that tells its supervisor what to do, and nothing is lost.
func testPollFailures(r *rig) {
	for status, want := range map[int]core.SendClass{
		http.StatusInternalServerError: core.SendRetryable,
		http.StatusBadGateway:          core.SendRetryable,
		http.StatusUnauthorized:        core.SendAuth,
		http.StatusConflict:            core.SendConflict,
	} {
		require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodPoll, Kind: testserver.FaultFail, Status: status}))
		r.requireClass(want, r.adapter.Run(r.Context(), r.inbox), "status %d", status)
	}
	require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodPoll, Kind: testserver.FaultOKLost, Times: 2}))
	require.NoError(r, r.server.Fault(testserver.Fault{Method: testserver.MethodPoll, Kind: testserver.FaultRetryAfter, After: time.Millisecond}))
	r.say(group(), "still there")
	r.start()
	require.Equal(r, []string{"still there"}, texts(r.inbox.WaitMessages(r, 1)))
}

// testStopAndStartAgain ends Run by its context, twice over.
func testStopAndStartAgain(r *rig) {
	for range 3 {
		ctx, cancel := context.WithCancel(r.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.adapter.Run(ctx, r.inbox) }()
		cancel()
		select {
		case err := <-ended:
			require.NoError(r, err, "ended by its context")
		case <-time.After(guard):
			require.FailNow(r, "Run does not end with its context")
		}
	}
	r.start()
	r.say(group(), "works")
	r.inbox.WaitMessages(r, 1)
	r.stop()
	r.stop()
}

// testOwnMessages: what the account writes is not input.
func testOwnMessages(r *rig) {
	r.start()
	to := r.meet(group())
	r.mustSend(to, "a notice")
	r.mustSend(to, "another")
	r.say(group(), "end")
	require.Equal(r, []string{"hello", "end"}, texts(r.inbox.WaitMessages(r, 2)))
}

// testNormalised checks what an adapter makes of a message.
func testNormalised(r *rig) {
	r.start()
	to := r.meet(group())
	id := r.mustSend(to, "question?")
	plain := r.say(group(), "no mention")
	_, err := r.server.Post(r.Context(), testserver.Post{By: alice(), At: group(), Text: "@bot do it"})
	require.NoError(r, err)
	_, err = r.server.Post(r.Context(), testserver.Post{By: testserver.User{Name: "helper", Bot: true}, At: group(), Text: "beep"})
	require.NoError(r, err)
	_, err = r.server.Post(r.Context(), testserver.Post{By: alice(), At: group(), Text: "answer", ReplyTo: &testserver.Ref{Place: group(), ID: id}})
	require.NoError(r, err)
	r.say(direct(), "psst")
	got := r.inbox.WaitMessages(r, 6)

	for _, m := range got {
		require.Equal(r, core.EventMessage, m.Event)
		require.NotEmpty(r, m.ID)
		require.Empty(r, m.Revision)
		require.NotZero(r, m.Cursor)
	}
	quiet, mention, bot, reply, private := got[1], got[2], got[3], got[4], got[5]
	require.Equal(r, plain.ID, quiet.ID)
	require.True(r, quiet.Address.Same(to))
	require.Equal(r, core.Group, quiet.Kind)
	require.Equal(r, r.server.UserID("alice"), quiet.Author.ID)
	require.False(r, quiet.Mentioned)
	require.False(r, quiet.Author.Bot)
	require.True(r, mention.Mentioned)
	require.True(r, bot.Author.Bot)
	require.False(r, bot.Author.Self)
	require.True(r, reply.Mentioned, "a reply to the bot addresses it")
	require.NotNil(r, reply.Quote)
	require.Equal(r, id, reply.Quote.ID)
	require.Equal(r, "question?", reply.Quote.Text)
	require.True(r, reply.Quote.Author.Self)
	require.Equal(r, core.Direct, private.Kind)
	require.True(r, private.Address.Same(r.server.Address(direct())))
}

// testEventsOfMessages: two edits are two events about one message.
func testEventsOfMessages(r *rig) {
	r.start()
	ref := r.say(group(), "helo")
	require.NoError(r, r.server.Edit(r.Context(), alice(), ref, "hello"))
	require.NoError(r, r.server.Edit(r.Context(), alice(), ref, "hello!"))
	if err := r.server.React(r.Context(), alice(), ref, "👍"); !errors.Is(err, testserver.ErrUnsupported) {
		require.NoError(r, err)
	}
	if err := r.server.Delete(r.Context(), alice(), ref); !errors.Is(err, testserver.ErrUnsupported) {
		require.NoError(r, err)
	}
	r.say(group(), "end")
	r.inbox.Wait(r, "the end", func() bool {
		got := r.inbox.Messages()
		return len(got) > 0 && got[len(got)-1].Text == "end"
	})
	var edits []string
	for _, m := range r.inbox.Messages() {
		if m.Text == "end" {
			continue
		}
		require.Equal(r, ref.ID, m.ID)
		if m.Event == core.EventEdit {
			edits = append(edits, m.Text)
		}
	}
	require.Equal(r, []string{"hello", "hello!"}, edits)
}

// testHistory: what was said in a place before a message, as it is now, in order
// and normalised as what is received.
func testHistory(r *rig) {
	reader, ok := r.adapter.(core.HistoryReader)
	if !ok {
		return
	}
	to := r.meet(group())
	one := r.say(group(), "one")
	r.mustSend(to, "the bot's own")
	two := r.say(group(), "too")
	require.NoError(r, r.server.Edit(r.Context(), alice(), two, "two"))
	gone := r.say(group(), "gone")
	deleted := true
	if err := r.server.Delete(r.Context(), alice(), gone); errors.Is(err, testserver.ErrUnsupported) {
		deleted = false
	} else {
		require.NoError(r, err)
	}
	last := r.say(group(), "last")
	r.say(group(), "later")

	said, err := reader.History(r.Context(), to, last.ID, 100)
	require.NoError(r, err)
	var texts []string
	for _, m := range said {
		require.Equal(r, to.Place(), m.Address.Place())
		require.Equal(r, core.Group, m.Kind)
		require.Equal(r, m.Text == "the bot's own", m.Author.Self, "%q", m.Text)
		texts = append(texts, m.Text)
	}
	if i := slices.Index(texts, "one"); i > 0 {
		texts, said = texts[i:], said[i:] // what came before belongs to the meeting
	}
	want := []string{"one", "the bot's own", "two"}
	if !deleted {
		want = append(want, "gone")
	}
	require.Equal(r, want, texts)
	require.Equal(r, one.ID, said[0].ID)
	require.NotEmpty(r, said[0].Author.ID)
	newest, err := reader.History(r.Context(), to, last.ID, 1)
	require.NoError(r, err)
	require.Len(r, newest, 1)
	require.Equal(r, want[len(want)-1], newest[0].Text)
	_, err = reader.History(r.Context(), to, "nothing", 5)
	require.Error(r, err)
}
