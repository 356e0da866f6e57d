package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
)

// answerLimit is the largest answer in bytes that a client reads.
const answerLimit = 256 << 20

// transportError is a call that got no answer to rely on. Sent tells whether
// the request had left: then the platform may have done what it asked.
type transportError struct {
	sent bool
	err  error
}

func (e *transportError) Error() string { return "console: " + e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// client calls a Handler. The zero timeout is deliberate: a poll may wait for
// hours, and every other call has its context's deadline.
type client struct {
	root, token string
	http        *http.Client
}

func newClient(root, token string, c *http.Client) client {
	if c == nil {
		c = http.DefaultClient
	}
	return client{root: strings.TrimSuffix(root, "/") + "/v1/", token: token, http: c}
}

// call posts req and decodes the answer.
func call[Req, Res any](ctx context.Context, c client, name string, req Req) (res Res, err error) {
	body, err := json.Marshal(req)
	if err != nil {
		return res, &transportError{err: err}
	}
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent.Store(true) }}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodPost, c.root+name, bytes.NewReader(body))
	if err != nil {
		return res, &transportError{err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return res, &transportError{sent: sent.Load(), err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil && resp.StatusCode == http.StatusOK {
		return res, &transportError{sent: true, err: err}
	}
	if resp.StatusCode != http.StatusOK {
		return res, readError(resp, answer)
	}
	if err := json.Unmarshal(answer, &res); err != nil {
		return res, &transportError{sent: true, err: fmt.Errorf("the answer to %s makes no sense: %w", name, err)}
	}
	return res, nil
}

// NewClient returns a Backend that talks to the Handler at root, a URL without
// the /v1. A token, if any, is sent as a bearer token. A nil c means
// http.DefaultClient; it must have no timeout.
func NewClient(root, token string, c *http.Client) Backend {
	return botClient{newClient(root, token, c)}
}

type botClient struct{ client }

func (c botClient) Poll(ctx context.Context, r PollRequest) (Updates, error) {
	return call[PollRequest, Updates](ctx, c.client, "bot/poll", r)
}

func (c botClient) Send(ctx context.Context, r SendRequest) (Sent, error) {
	return call[SendRequest, Sent](ctx, c.client, "bot/send", r)
}

func (c botClient) Edit(ctx context.Context, r EditRequest) (Done, error) {
	return call[EditRequest, Done](ctx, c.client, "bot/edit", r)
}

func (c botClient) Delete(ctx context.Context, r DeleteRequest) (Done, error) {
	return call[DeleteRequest, Done](ctx, c.client, "bot/delete", r)
}

func (c botClient) OpenThread(ctx context.Context, r OpenRequest) (Thread, error) {
	return call[OpenRequest, Thread](ctx, c.client, "bot/open-thread", r)
}

func (c botClient) CloseThread(ctx context.Context, r CloseRequest) (Done, error) {
	return call[CloseRequest, Done](ctx, c.client, "bot/close-thread", r)
}

func (c botClient) FindThread(ctx context.Context, r FindRequest) (Found, error) {
	return call[FindRequest, Found](ctx, c.client, "bot/find-thread", r)
}

func (c botClient) Probe(ctx context.Context, r ProbeRequest) (Probed, error) {
	return call[ProbeRequest, Probed](ctx, c.client, "bot/probe", r)
}

func (c botClient) History(ctx context.Context, r HistoryRequest) (History, error) {
	return call[HistoryRequest, History](ctx, c.client, "bot/history", r)
}

func (c botClient) Typing(ctx context.Context, r TypingRequest) (Done, error) {
	return call[TypingRequest, Done](ctx, c.client, "bot/typing", r)
}

func (c botClient) Fetch(ctx context.Context, r FetchRequest) (Content, error) {
	return call[FetchRequest, Content](ctx, c.client, "bot/fetch", r)
}

// NewPeopleClient returns a People that talks to the PeopleHandler or Handler
// at root. The arguments are those of NewClient; for a unix socket, root is
// any http URL and c dials the socket.
func NewPeopleClient(root, token string, c *http.Client) People {
	return peopleClient{newClient(root, token, c)}
}

type peopleClient struct{ client }

func (c peopleClient) Post(ctx context.Context, r Post) (Message, error) {
	return call[Post, Message](ctx, c.client, "people/post", r)
}

func (c peopleClient) Change(ctx context.Context, r MessageChange) (Message, error) {
	return call[MessageChange, Message](ctx, c.client, "people/change", r)
}

func (c peopleClient) OpenChat(ctx context.Context, r ChatRequest) (Conversation, error) {
	return call[ChatRequest, Conversation](ctx, c.client, "people/open-chat", r)
}

func (c peopleClient) OpenTopic(ctx context.Context, r TopicRequest) (Thread, error) {
	return call[TopicRequest, Thread](ctx, c.client, "people/open-topic", r)
}

func (c peopleClient) ChangeThread(ctx context.Context, r ThreadChange) (Thread, error) {
	return call[ThreadChange, Thread](ctx, c.client, "people/change-thread", r)
}

func (c peopleClient) Feed(ctx context.Context, r FeedRequest) (Feed, error) {
	return call[FeedRequest, Feed](ctx, c.client, "people/feed", r)
}

func (c peopleClient) Conversations(ctx context.Context, r Done) (Conversations, error) {
	return call[Done, Conversations](ctx, c.client, "people/conversations", r)
}

func (c peopleClient) Threads(ctx context.Context, r ThreadsRequest) (Threads, error) {
	return call[ThreadsRequest, Threads](ctx, c.client, "people/threads", r)
}
