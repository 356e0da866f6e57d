package app

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// APIRoot begins the path of every endpoint.
const APIRoot = "/api/v1"

// apiBody is the largest request body in bytes.
const apiBody = 1 << 20

// The number of rows that a list has where the request does not say, and at
// most.
const (
	listDefault = 200
	listMax     = 1000
)

//go:generate go run ./internal/reference

// API serves the runtime to programs: docs/openapi.json describes it. The
// handler does not ask who is calling; serve it on a socket that only its
// owner can open, or behind something that asks.
//
// It may be used from New on. Every request blocks for at most one commit of
// the store; nothing is streamed.
func (a *App) API() http.Handler {
	return api{db: a.db, config: func() *config.Config { return a.live().cfg }, now: a.world.Now, live: a}.handler()
}

// ReadOnlyAPI serves the same endpoints on a store that is open for reading,
// without a runtime. What would change something is refused with the code
// gateway_down.
func ReadOnlyAPI(db *store.DB, cfg *config.Config) http.Handler {
	return api{db: db, config: func() *config.Config { return cfg }, now: db.World().Now}.handler()
}

// api serves the routes. live is nil where there is no runtime.
type api struct {
	db     *store.DB
	config func() *config.Config
	now    func() core.Millis
	live   *App
}

func (s api) views() Views { return Views{Config: s.config(), Now: s.now()} }

// Endpoint is one method of one path. Endpoints lists them, for documentation.
type Endpoint struct {
	Method, Path string
	// Summary says what it does, in one line.
	Summary string
	// Query are the parameters in the query string.
	Query []Parameter
	// Body and Answer are the types of the JSON bodies; Body is nil where none
	// is taken.
	Body, Answer reflect.Type
	// Writes is set where it needs a running gateway.
	Writes bool

	serve func(api, *http.Request) (any, error)
}

// Parameter is one parameter of a query string.
type Parameter struct {
	Name    string
	Type    string // "boolean", "integer" or "string"
	Summary string
}

// Endpoints returns what API serves, in the order of the documentation.
func Endpoints() []Endpoint { return endpoints() }

// ErrorView is the body of every answer that is not 200.
type ErrorView struct {
	// Stable word for the kind of error.
	Code string `json:"code"`
	// What is wrong, for people.
	Error string `json:"error"`
	// What to do about it, "" if there is nothing to say.
	Remedy string `json:"remedy"`
}

func (s api) handler() http.Handler {
	mux := http.NewServeMux()
	for _, e := range endpoints() {
		mux.HandleFunc(e.Method+" "+APIRoot+e.Path, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, apiBody)
			s.answer(w, r, e)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { notFound(mux, w, r) })
	return mux
}

func (s api) answer(w http.ResponseWriter, r *http.Request, e Endpoint) {
	if e.Writes && s.live == nil {
		writeError(w, core.Errorf("gateway_down", "no gateway is running").WithRemedy("start it with `skein run`"))
		return
	}
	value, err := e.serve(s, r)
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, value)
}

// notFound answers a request that no endpoint takes: 405 where the path has
// another method.
func notFound(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && r.Method != method {
			w.Header().Set("Allow", method)
			writeJSON(w, http.StatusMethodNotAllowed, ErrorView{Code: "method_not_allowed", Error: r.Method + " is not for " + r.URL.Path, Remedy: "use " + method})
			return
		}
	}
	writeJSON(w, http.StatusNotFound, ErrorView{Code: "not_found", Error: "there is no " + r.URL.Path, Remedy: "docs/openapi.json lists the endpoints"})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // the caller is gone
}

// writeError answers with an error; one without a code is "internal".
func writeError(w http.ResponseWriter, err error) {
	view := ErrorView{Code: "internal", Error: err.Error()}
	var e *core.Error
	if errors.As(err, &e) {
		view.Code, view.Remedy = e.Code, e.Remedy
		view.Error = strings.TrimSuffix(err.Error(), " ("+e.Remedy+")")
	}
	writeJSON(w, statusOf(view.Code), view)
}

// statusOf returns the HTTP status of an error code.
func statusOf(code string) int {
	switch {
	case strings.HasSuffix(code, "_unknown"):
		return http.StatusNotFound
	case strings.HasSuffix(code, "_ambiguous"), strings.HasSuffix(code, "_state"), code == "data_busy", code == "task_not_blocked", code == "task_nowhere":
		return http.StatusConflict
	case strings.HasPrefix(code, "bad_"), strings.HasSuffix(code, "_empty"):
		return http.StatusBadRequest
	case code == "gateway_down":
		return http.StatusServiceUnavailable
	case code == "config_invalid", code == "reload_unavailable":
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

// decodeBody reads a JSON body strictly.
func decodeBody(r *http.Request, into any) error {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		_, err = dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		err = errors.New("there is more after the value")
	}
	return core.Errorf("bad_request", "the body is not what this endpoint takes: %v", err).WithRemedy("docs/openapi.json describes it")
}

// limit returns how many rows a list may have.
func limit(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return listDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > listMax {
		return 0, core.Errorf("bad_request", "limit %q is not a number from 1 to %d", text, listMax)
	}
	return n, nil
}

// flag returns a boolean of the query string, false if it is not there.
func flag(r *http.Request, name string) (bool, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, core.Errorf("bad_request", "%s is %q, which is neither true nor false", name, text)
	}
	return on, nil
}
