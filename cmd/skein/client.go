package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// socketURL stands for the socket in requests; nothing looks it up.
const socketURL = "http://skein"

// client asks a gateway, or the store where none runs. It answers in the same
// words in both cases.
type client struct {
	http *http.Client
	// live is set where a gateway answers.
	live  bool
	close func() error
}

// connect finds whom to ask. A command that changes something needs a gateway;
// one that reads does without.
func (e *env) connect(cfg *config.Config, writes bool) (*client, error) {
	if e.gateway != nil {
		return inProcess(e.gateway, true, nothingToClose), nil
	}
	if !e.isScript() {
		if c := dialGateway(cfg); c != nil {
			return c, nil
		}
	}
	if writes {
		return nil, core.Errorf("gateway_down", "no gateway is running for %s", cfg.StateDir()).WithRemedy("start it with `skein run`")
	}
	where, err := store.ParseURL(cfg.Store.URL.Reveal())
	if err != nil {
		return nil, err
	}
	where.World, where.ReadOnly = world.New(e.clock, nil, 0), true
	db, err := store.Open(context.Background(), where)
	if err != nil {
		return nil, err
	}
	return inProcess(app.ReadOnlyAPI(db, cfg), false, db.Close), nil
}

func nothingToClose() error { return nil }

// socketClient is an HTTP client whose every connection goes to the socket of a
// state folder.
func socketClient(stateDir string) *http.Client {
	path := filepath.Join(stateDir, app.SocketName)
	return &http.Client{Transport: &http.Transport{
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
}

// dialGateway returns a client of the gateway that serves the socket of a
// configuration, nil if none does.
func dialGateway(cfg *config.Config) *client {
	if !dialSocket(cfg.StateDir()) {
		return nil
	}
	c := socketClient(cfg.StateDir())
	return &client{http: c, live: true, close: func() error {
		c.CloseIdleConnections()
		return nil
	}}
}

// dialSocket tells whether a gateway serves a state folder.
func dialSocket(stateDir string) bool {
	conn, err := net.Dial("unix", filepath.Join(stateDir, app.SocketName))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func inProcess(h http.Handler, live bool, done func() error) *client {
	return &client{http: &http.Client{Transport: handlerTransport{h}}, live: live, close: done}
}

// get reads an endpoint into out.
func (c *client) get(ctx context.Context, path string, query url.Values, out any) error {
	target := socketURL + app.APIRoot + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return c.call(ctx, http.MethodGet, target, nil, out)
}

// post calls an endpoint that changes something. A nil body is none.
func (c *client) post(ctx context.Context, path string, body, out any) error {
	return c.call(ctx, http.MethodPost, socketURL+app.APIRoot+path, body, out)
}

func (c *client) call(ctx context.Context, method, target string, body, out any) error {
	var sent io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, sent)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return core.Errorf("gateway_lost", "the gateway does not answer: %v", errors.Unwrap(err)).WithRemedy("is it still running? `skein channels` tells")
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return core.Errorf("gateway_lost", "the gateway's answer broke off: %v", err).WithRemedy("try again")
	}
	if resp.StatusCode != http.StatusOK {
		return readError(resp, answer)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return core.Errorf("gateway_lost", "the gateway's answer makes no sense: %v", err).WithRemedy("is it of the same version? `skein version` tells this one's")
	}
	return nil
}

func readError(resp *http.Response, body []byte) error {
	var view app.ErrorView
	if err := json.Unmarshal(body, &view); err != nil || view.Code == "" {
		return core.Errorf("gateway_lost", "the gateway answers %s", resp.Status)
	}
	return &core.Error{Code: view.Code, Text: view.Error, Remedy: view.Remedy}
}

// item is the path of one thing of a list.
func item(list, name string, more ...string) string {
	path := "/" + list + "/" + url.PathEscape(name)
	for _, m := range more {
		path += "/" + m
	}
	return path
}

// handlerTransport answers requests by a handler in this process.
type handlerTransport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	t.handler.ServeHTTP(w, r)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status, Proto: r.Proto, ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
}

func (w *recorder) Write(b []byte) (int, error) {
	w.wrote = true
	return w.body.Write(b)
}
