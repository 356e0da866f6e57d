package app_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/app"
)

// A program that embeds the runtime serves its API where it likes; ListenSocket
// is the place where the skein command looks for it.
func ExampleApp_API() {
	dir, err := os.MkdirTemp("", "skein")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	cfg := config.Default()
	cfg.Store.URL = config.StoreURL("sqlite:" + filepath.Join(dir, "skein.db"))
	a, err := app.New(app.Options{Config: cfg})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = a.Stop(context.Background()) }()

	server := httptest.NewServer(a.API())
	defer server.Close()
	for _, path := range []string{"/sessions", "/sessions/nobody"} {
		resp, err := http.Get(server.URL + app.APIRoot + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Print(resp.StatusCode, " ", string(body))
	}
	// Output:
	// 200 []
	// 404 {"code":"session_unknown","error":"there is no session \"nobody\"","remedy":"`skein sessions` lists them"}
}
