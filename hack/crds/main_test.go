package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// definition is a CustomResourceDefinition as far as it matters, with each text that is replaced.
func definition() string {
	var b strings.Builder
	b.WriteString("---\nspec:\n  properties:\n")
	for i, t := range texts() {
		b.WriteString("    field" + string(rune('a'+i)) + ":\n      description: |-\n        " +
			strings.ReplaceAll(t.begins, "\n", "\n        ") + " more\n")
	}
	b.WriteString("    managementPolicies:\n      type: array\n    providerConfigRef:\n      properties:\n" +
		"        kind:\n          type: string\n")
	b.WriteString("  status:\n    properties:\n      providerConfigRef:\n        properties:\n          kind:\n" +
		"            type: string\n")
	return b.String()
}

// TestComplete shows that texts are replaced and values restricted in what users write, and that a text which is not
// there any more is noticed.
func TestComplete(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "definition.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(definition())
	if err := completeAll(dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := string(b)
	for _, x := range texts() {
		if strings.Contains(got, x.begins[:20]) {
			t.Errorf("%q is still there:\n%s", x.begins, got)
		}
	}
	for what, want := range map[string]int{
		"ClusterProviderConfig\n": 1, "x-kubernetes-validations": 1, "maxItems: 16": 1,
	} {
		if n := strings.Count(got, what); n != want {
			t.Errorf("want %d times %q, got %d:\n%s", want, what, n, got)
		}
	}
	if err := completeAll(dir); err == nil || !strings.Contains(err.Error(), "no field has the text") {
		t.Errorf("want an error about texts that are not there, got: %v", err)
	}
}
