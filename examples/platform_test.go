package examples

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlatformGuide shows that each YAML of the guide to a platform is that of a file, which its commands apply.
func TestPlatformGuide(t *testing.T) {
	files := map[string]map[string]any{}
	for _, f := range find(t, "platform", ".yaml") {
		for _, u := range resourcesIn(t, []byte(read(t, f))) {
			files[u.GetKind()+" "+u.GetName()] = u.Object
		}
	}
	shown := 0
	for _, block := range fence.FindAllStringSubmatch(read(t, "../docs/platform.md"), -1) {
		if block[1] != "yaml" {
			continue
		}
		for _, u := range resourcesIn(t, []byte(block[2])) {
			shown++
			if diff := cmp.Diff(files[u.GetKind()+" "+u.GetName()], u.Object); diff != "" {
				t.Errorf("%s %s: -in examples/platform, +in the guide:\n%s", u.GetKind(), u.GetName(), diff)
			}
		}
	}
	if shown == 0 {
		t.Error("the guide shows no YAML")
	}
}
