package main

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/skein-bot/skein/core/app"
)

// about is the description of the API as a whole.
const about = `What the gateway serves on the unix socket in its state folder. The socket belongs to whoever runs the gateway; nobody else can open it.

Times are milliseconds since 1970 in UTC, durations milliseconds. A time that is left out has not come. Fields are added, never renamed or removed.

Beside these endpoints, /api/v1/console/v1/people/ serves terminals of the console channel; its form belongs to that channel.`

// openAPI describes every endpoint.
func openAPI(docs comments) ([]byte, error) {
	s := &schemas{docs: docs, components: object{}}
	failure := s.of(reflect.TypeFor[app.ErrorView]())
	paths := object{}
	for _, e := range app.Endpoints() {
		path := app.APIRoot + e.Path
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(e.Method)] = s.operation(e, failure)
	}
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Skein gateway", "version": "1", "description": about,
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":    []any{object{"url": "http://localhost", "description": "the unix socket skein.sock"}},
		"paths":      paths,
		"components": object{"schemas": s.components},
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(doc)
	return []byte(b.String()), err
}

var wildcard = regexp.MustCompile(`\{(\w+)\}`)

func (s *schemas) operation(e app.Endpoint, failure object) object {
	parameters := []any{}
	for _, name := range wildcard.FindAllStringSubmatch(e.Path, -1) {
		parameters = append(parameters, object{"name": name[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range e.Query {
		parameters = append(parameters, object{"name": p.Name, "in": "query", "description": p.Summary, "schema": object{"type": p.Type}})
	}
	refused := "The request is refused; the code says why."
	if e.Writes {
		refused += " Without a running gateway it is gateway_down."
	}
	op := object{
		"summary": e.Summary, "operationId": operationID(e),
		"responses": object{
			"200":     body("The answer.", s.of(e.Answer)),
			"default": body(refused, failure),
		},
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if e.Body != nil {
		op["requestBody"] = object{"required": true, "content": content(s.of(e.Body))}
	}
	return op
}

func body(description string, schema object) object {
	return object{"description": description, "content": content(schema)}
}

func content(schema object) object {
	return object{"application/json": object{"schema": schema}}
}

// operationID names an operation: getSessions, getSession, postSessionStop.
func operationID(e app.Endpoint) string {
	id := "get"
	if e.Method == http.MethodPost {
		id = "post"
	}
	parts := strings.Split(strings.Trim(e.Path, "/"), "/")
	for i, part := range parts {
		if wildcard.MatchString(part) {
			continue
		}
		if i+1 < len(parts) && wildcard.MatchString(parts[i+1]) {
			part = strings.TrimSuffix(part, "s")
		}
		id += strings.ToUpper(part[:1]) + part[1:]
	}
	return id
}
