"""Questions: which plans rejected people would take, before they are told any."""
