"""WaveCluster: counts on a grid, wavelets, significant cells and connected clusters."""
