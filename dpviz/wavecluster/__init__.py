"""WaveCluster: counts on a grid, wavelets, significant cells, connected clusters."""
