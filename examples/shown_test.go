package examples

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShownFiles shows that each YAML of some guides is that of a file, which their commands apply.
func TestShownFiles(t *testing.T) {
	for guide, folder := range map[string]string{"platform.md": "platform", "quickstart.md": "quickstart"} {
		files := map[string]map[string]any{}
		for _, f := range find(t, folder, ".yaml") {
			for _, u := range resourcesIn(t, []byte(read(t, f))) {
				files[u.GetKind()+" "+u.GetName()] = u.Object
			}
		}
		shown := 0
		for _, block := range fence.FindAllStringSubmatch(read(t, "../docs/"+guide), -1) {
			if block[1] != "yaml" {
				continue
			}
			for _, u := range resourcesIn(t, []byte(block[2])) {
				shown++
				if diff := cmp.Diff(files[u.GetKind()+" "+u.GetName()], u.Object); diff != "" {
					t.Errorf("%s %s: -in examples/%s, +in %s:\n%s", u.GetKind(), u.GetName(), folder, guide, diff)
				}
			}
		}
		if shown == 0 {
			t.Errorf("%s shows no YAML", guide)
		}
	}
}
